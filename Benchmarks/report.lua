-- Prints the result of a load as one line of JSON.
return function(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'REPORT {"requests":%d,"seconds":%.4f,"p50_ms":%.3f,"p99_ms":%.3f,"failed":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    e.status + e.connect + e.read + e.write + e.timeout))
end
