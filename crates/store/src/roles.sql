-- Groups for a store of assay in PostgreSQL. To be carried out in its database, by the owner of
-- the tables, after the first command has made them there; again does no harm. Users get a group
-- with: GRANT assay_writer TO ann;
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'assay_reader') THEN
        CREATE ROLE assay_reader NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'assay_writer') THEN
        CREATE ROLE assay_writer NOLOGIN IN ROLE assay_reader;
    END IF;
END
$$;
GRANT USAGE ON SCHEMA public TO assay_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO assay_reader;
GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO assay_writer;
REVOKE INSERT, UPDATE, DELETE ON assay_store FROM assay_writer;
-- For tables of newer versions.
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO assay_reader;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT INSERT, UPDATE, DELETE ON TABLES TO assay_writer;
