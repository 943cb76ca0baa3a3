-- Posts sign-ins, each with a code of its own. Arguments: API key, client, name of the load, first and last number of
-- the users, and `number` for sign-ins with an operator token. After the last user it starts over, with new codes.
local folder = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
local headers, body, path, first, count
local posted = 0

function init(args)
  headers = { ["X-API-KEY"] = args[1], ["Content-Type"] = "application/json" }
  body = '{"client_id":"' .. args[2] .. '","code":"c-%d-' .. args[3] .. '-%d","mccmnc":"310010",'
    .. '"redirect_uri":"https://app.example/callback","code_verifier":"' .. string.rep("v", 64) .. '","nonce":"n-%d"}'
  path = "/auth/zenkey-signin"
  if args[6] == "number" then
    path, body = "/auth/number/sign-in", '{"operator":"bench","operator_token":"c-%d-' .. args[3] .. '-%d"}'
  end
  first, count = tonumber(args[4]), tonumber(args[5]) - tonumber(args[4]) + 1
end

function request()
  -- 7919 is prime, so that each user has a turn, in an order unlike that of the table.
  local n = first + posted * (count % 7919 == 0 and 1 or 7919) % count
  posted = posted + 1
  return wrk.format("POST", path, headers, string.format(body, n, posted, n))
end

done = dofile(folder .. "report.lua")
