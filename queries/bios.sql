-- Bios by device and rwbs, as `blkan stats` counts them: how many, how many of them merged, their sizes in bytes, and
-- mean latencies in ns. Bios without a queue event are left out.
SELECT
  host, trace, dev, rwbs,
  COUNT(*) AS bios,
  SUM(CASE WHEN merged <> 'request' THEN 1 ELSE 0 END) AS merged_bios,
  AVG(CASE WHEN merged <> 'request' THEN 1.0E0 ELSE 0.0E0 END) AS merged_share,
  SUM(CASE WHEN bytes > 0 THEN 1 ELSE 0 END) AS sized,
  AVG(CASE WHEN bytes > 0 THEN CAST(bytes AS DOUBLE) END) AS bytes_mean,
  MIN(CASE WHEN bytes > 0 THEN bytes END) AS bytes_min,
  MAX(CASE WHEN bytes > 0 THEN bytes END) AS bytes_max,
  AVG(CAST(q2g_ns AS DOUBLE)) AS q2g_mean,
  AVG(CAST(q2m_ns AS DOUBLE)) AS q2m_mean,
  AVG(CAST(q2c_ns AS DOUBLE)) AS q2c_mean
FROM bios
WHERE q_ns IS NOT NULL
GROUP BY host, trace, dev, rwbs
ORDER BY host, trace, dev, rwbs
