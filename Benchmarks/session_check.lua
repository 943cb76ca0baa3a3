-- Checks the session of each token of a file in turn. Arguments: API key, file, and `me` or `introspect`.
local folder = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
local requests, last = {}, 0

function init(args)
  for token in io.lines(args[2]) do
    if args[3] == "introspect" then
      local headers = { ["X-API-KEY"] = args[1], ["Content-Type"] = "application/x-www-form-urlencoded" }
      requests[#requests + 1] = wrk.format("POST", "/auth/introspect", headers, "token=" .. token)
    else
      local headers = { ["X-API-KEY"] = args[1], ["Authorization"] = "Bearer " .. token }
      requests[#requests + 1] = wrk.format("GET", "/users/me", headers)
    end
  end
end

function request()
  last = last % #requests + 1
  return requests[last]
end

done = dofile(folder .. "report.lua")
