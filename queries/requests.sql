-- Requests by device and rwbs, as `blkan stats` counts them: how many, how they ended, issues of each, mean latencies in ns.
-- Spans count for requests that completed or failed.
SELECT
  host, trace, dev, rwbs,
  COUNT(*) AS requests,
  SUM(CASE WHEN outcome IN ('completed', 'failed') THEN 1 ELSE 0 END) AS completed,
  SUM(CASE WHEN outcome = 'failed' THEN 1 ELSE 0 END) AS failed,
  SUM(CASE WHEN outcome = 'open' THEN 1 ELSE 0 END) AS still_open,
  SUM(CASE WHEN outcome = 'lost' THEN 1 ELSE 0 END) AS lost,
  SUM(issues) AS issues,
  SUM(requeues) AS requeues,
  AVG(CASE WHEN outcome IN ('completed', 'failed') AND issues > 0 THEN CAST(issues AS DOUBLE) END) AS issues_per_rq,
  AVG(CASE WHEN outcome IN ('completed', 'failed') THEN CAST(q2g_ns AS DOUBLE) END) AS q2g_mean,
  AVG(CASE WHEN outcome IN ('completed', 'failed') THEN CAST(g2d_ns AS DOUBLE) END) AS g2d_mean,
  AVG(CASE WHEN outcome IN ('completed', 'failed') THEN CAST(d2c_ns AS DOUBLE) END) AS d2c_mean,
  MIN(CASE WHEN outcome IN ('completed', 'failed') THEN d2c_ns END) AS d2c_min,
  MAX(CASE WHEN outcome IN ('completed', 'failed') THEN d2c_ns END) AS d2c_max,
  AVG(CASE WHEN outcome IN ('completed', 'failed') THEN CAST(fd2c_ns AS DOUBLE) END) AS fd2c_mean,
  AVG(CASE WHEN outcome IN ('completed', 'failed') THEN CAST(g2c_ns AS DOUBLE) END) AS g2c_mean,
  MAX(CASE WHEN outcome IN ('completed', 'failed') THEN g2c_ns END) AS g2c_max,
  AVG(CASE WHEN outcome IN ('completed', 'failed') THEN CAST(q2c_ns AS DOUBLE) END) AS q2c_mean
FROM requests
GROUP BY host, trace, dev, rwbs
ORDER BY host, trace, dev, rwbs
