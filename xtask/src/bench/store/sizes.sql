SELECT CASE relkind WHEN 'r' THEN '' ELSE '  ' END || relname || '|'
    || CASE relkind WHEN 'r' THEN CAST(CAST(reltuples AS bigint) AS text) ELSE '' END || '|'
    || pg_size_pretty(CASE relkind WHEN 'r' THEN pg_table_size(oid) ELSE pg_relation_size(oid) END)
FROM (SELECT tables.relname AS owner, each.* FROM pg_class AS tables
    JOIN pg_class AS each ON each.oid = tables.oid
        OR each.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = tables.oid)
    WHERE tables.relkind = 'r' AND tables.relnamespace = CAST('public' AS regnamespace)
        AND pg_total_relation_size(tables.oid) > 1000000) AS relations
ORDER BY owner, relkind <> 'r', relname;
