-- Uses each line of a file once. Arguments: API key, file, and `refresh` with refresh tokens, `end` with tokens of
-- sessions, or a path with bodies in JSON.
local folder = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
local requests, last = {}, 0

function init(args)
  for token in io.lines(args[2]) do
    if args[3] == "end" then
      local headers = { ["X-API-KEY"] = args[1], ["Authorization"] = "Bearer " .. token }
      requests[#requests + 1] = wrk.format("DELETE", "/auth/token", headers)
    elseif args[3]:sub(1, 1) == "/" then
      local headers = { ["X-API-KEY"] = args[1], ["Content-Type"] = "application/json" }
      requests[#requests + 1] = wrk.format("POST", args[3], headers, token)
    else
      local headers = { ["X-API-KEY"] = args[1], ["Content-Type"] = "application/x-www-form-urlencoded" }
      local body = "grant_type=refresh_token&refresh_token=" .. token
      requests[#requests + 1] = wrk.format("POST", "/auth/token", headers, body)
    end
  end
end

function request()
  last = last + 1
  -- wrk makes one request before the load. Responses to the last ones are not awaited.
  if last >= #requests then wrk.thread:stop() end
  return requests[math.min(last, #requests)]
end

done = dofile(folder .. "report.lua")
