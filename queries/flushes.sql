-- Flushes by device, as `blkan stats` accounts for them: flush bios (empty, with PREFLUSH), steps that requests asked for
-- (an empty flush one, before and after data one each), device flushes sent, requeued and completed, and how many of
-- the steps seen to begin and end fall to each completed one.
SELECT
  host, trace, dev,
  SUM(bios) AS bios,
  SUM(steps) AS steps,
  SUM(sent) AS sent,
  SUM(requeued) AS requeued,
  SUM(completed) AS completed,
  CASE
    WHEN SUM(completed) > 0 THEN CAST(SUM(served) AS DOUBLE) / CAST(SUM(completed) AS DOUBLE)
  END AS steps_per_flush
FROM (
  SELECT
    host, trace, dev,
    1 AS bios, 0 AS steps, 0 AS sent, 0 AS requeued, 0 AS completed, 0 AS served
  FROM bios
  WHERE q_ns IS NOT NULL AND bytes = 0 AND rwbs LIKE 'F_%'
  UNION ALL
  SELECT
    host, trace, dev,
    0 AS bios,
    CASE
      WHEN kind = 'empty-flush' AND postflush THEN 2
      WHEN kind = 'empty-flush' THEN 1
      WHEN kind = 'io' AND outcome <> 'absorbed' AND preflush AND postflush THEN 2
      WHEN kind = 'io' AND outcome <> 'absorbed' AND (preflush OR postflush) THEN 1
      ELSE 0
    END AS steps,
    CASE WHEN kind = 'device-flush' THEN issues ELSE 0 END AS sent,
    CASE WHEN kind = 'device-flush' THEN requeues ELSE 0 END AS requeued,
    CASE WHEN kind = 'device-flush' THEN completions ELSE 0 END AS completed,
    CASE
      WHEN g_ns IS NULL OR kind = 'io' AND outcome = 'absorbed' THEN 0
      WHEN kind = 'empty-flush' AND outcome IN ('completed', 'failed') THEN CASE WHEN postflush THEN 2 ELSE 1 END
      WHEN kind = 'io' THEN
        CASE WHEN preflush AND (i_ns IS NOT NULL OR d_first_ns IS NOT NULL) THEN 1 ELSE 0 END
        + CASE WHEN postflush AND outcome IN ('completed', 'failed') THEN 1 ELSE 0 END
      ELSE 0
    END AS served
  FROM requests
) AS parts
GROUP BY host, trace, dev
HAVING SUM(bios) + SUM(steps) + SUM(sent) + SUM(completed) > 0
ORDER BY host, trace, dev
