-- Copies of the runs that are there, over years: `copies` of each, from `begin` on for `span`
-- milliseconds. Names of runs are as random as real ones; figures scatter by 3 %.
BEGIN;
SET LOCAL synchronous_commit = off;
SET LOCAL work_mem = '256MB';

CREATE TEMPORARY TABLE seeds AS
    SELECT id, started_unix_ms, row_number() OVER (ORDER BY id) - 1 AS place FROM runs;
CREATE TEMPORARY TABLE copies AS
    SELECT seeds.id AS seed, started_unix_ms AS seed_at, n,
        substr(md5(seeds.id || '-' || n), 1, 12) AS id,
        :begin + (n * count(*) OVER (PARTITION BY n) + place) * :span
            / (:copies * count(*) OVER (PARTITION BY n)) AS at
    FROM seeds CROSS JOIN generate_series(CAST(1 AS bigint), :copies) AS n
    ORDER BY at;
ANALYZE copies;
ANALYZE;

INSERT INTO runs (id, started_unix_ms, finished_unix_ms, status, owner_pid, owner_boot_id,
    owner_start_ticks, path, device, trials_planned, header, target, command, content_sha256,
    facts_version)
SELECT copies.id, at, at + finished_unix_ms - started_unix_ms, status, owner_pid, owner_boot_id,
    owner_start_ticks, path, device, trials_planned,
    replace(replace(header, seed, copies.id), CAST(started_unix_ms AS text), CAST(at AS text)),
    target, command, encode(sha256(CAST(copies.id AS bytea)), 'hex'),
    facts_version
FROM copies JOIN runs ON runs.id = seed;

INSERT INTO trials (run_id, position, job, trial, outcome, started_unix_ms, record)
SELECT copies.id, position, job, trial, outcome, at + started_unix_ms - seed_at, record
FROM copies JOIN trials ON run_id = seed;

INSERT INTO facts (run_id, project, target, model, unit, bus, kernel, firmware, governor, surroundings)
SELECT copies.id, project, target, model, unit, bus, kernel, firmware, governor, surroundings
FROM copies JOIN facts ON run_id = seed;

INSERT INTO points (series, started_unix_ms, run_id, n, centre, samples)
SELECT series, at, copies.id, points.n, centre * (0.97 + 0.06 * random()),
    ARRAY[samples[1] * (0.97 + 0.06 * random()), samples[2] * (0.97 + 0.06 * random())]
FROM copies JOIN points ON run_id = seed;

-- A change in one of ten series, halfway.
INSERT INTO changes (series, run_id, before_run_id, started_unix_ms, found_unix_ms, verdict, effect,
    effect_low, effect_high, before_runs, before_centre, after_runs, after_centre, p, events, method,
    accepted)
SELECT series, later.id, earlier.id, later.at, later.at + 172800000, 'slower', -8, -9, -7, 20, centre,
    20, centre * 0.92, 0.001, '[{"circumstance":"kernel","before":"6.6.1","after":"6.6.2"}]',
    'simulated', 0
FROM points JOIN copies AS later ON later.seed = run_id AND later.n = :copies / 2 + 1
    JOIN copies AS earlier ON earlier.seed = run_id AND earlier.n = :copies / 2
WHERE series % 10 = 0;

UPDATE series SET checked = runs_of.runs, runs = runs_of.runs, first_unix_ms = runs_of.first,
    last_unix_ms = runs_of.last, last_centre = runs_of.centre
FROM (SELECT series, count(*) AS runs, min(started_unix_ms) AS first, max(started_unix_ms) AS last,
    max(centre) AS centre FROM points GROUP BY series) AS runs_of
WHERE runs_of.series = series.id;

-- One of a hundred runs has a name and a tag, the oldest a note of its own.
INSERT INTO annotations (id, name, tags, note, changed_unix_ms)
SELECT id, 'night-' || id, '["nightly"]', CASE WHEN at = (SELECT min(at) FROM copies)
    THEN 'needle in the haystack' END, at
FROM copies WHERE n % 100 = 1;
COMMIT;
VACUUM (ANALYZE);
