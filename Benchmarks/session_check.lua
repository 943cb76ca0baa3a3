-- Checks the session of each token of a file in turn. Arguments: API key, file, and `me`, `introspect`, `verify`,
-- or `proxied` for what a trusted proxy asks with the cookie.
local folder = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
local requests, last = {}, 0

function init(args)
  for token in io.lines(args[2]) do
    if args[3] == "introspect" then
      local headers = { ["X-API-KEY"] = args[1], ["Content-Type"] = "application/x-www-form-urlencoded" }
      requests[#requests + 1] = wrk.format("POST", "/auth/introspect", headers, "token=" .. token)
    elseif args[3] == "proxied" then
      local headers = { ["X-Forwarded-For"] = "192.0.2.1", ["Cookie"] = "latchkey_session=" .. token }
      requests[#requests + 1] = wrk.format("GET", "/auth/verify", headers)
    else
      local headers = { ["X-API-KEY"] = args[1], ["Authorization"] = "Bearer " .. token }
      requests[#requests + 1] = wrk.format("GET", args[3] == "verify" and "/auth/verify" or "/users/me", headers)
    end
  end
end

function request()
  last = last % #requests + 1
  return requests[last]
end

done = dofile(folder .. "report.lua")
