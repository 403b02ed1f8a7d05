-- Merges by device, as `blkan stats` counts them: bios, merged ones, their share, and the kinds.
SELECT
  host, trace, dev,
  COUNT(*) AS bios,
  SUM(CASE WHEN merged <> 'request' THEN 1 ELSE 0 END) AS merged_bios,
  AVG(CASE WHEN merged <> 'request' THEN 1.0E0 ELSE 0.0E0 END) AS share,
  SUM(CASE WHEN merged = 'back' THEN 1 ELSE 0 END) AS back,
  SUM(CASE WHEN merged = 'front' THEN 1 ELSE 0 END) AS front
FROM bios
WHERE q_ns IS NOT NULL
GROUP BY host, trace, dev
ORDER BY host, trace, dev
