# tolerant
# What a role without privileges may do: each kind of statement, on objects that are another's. The answers tell who may do what.
== objects of others
sql CREATE ROLE mallory LOGIN
sql CREATE ROLE victim LOGIN
sql CREATE ROLE crew
sql CREATE SCHEMA closed
sql CREATE TABLE closed.t (a int)
sql CREATE TABLE secret (id int PRIMARY KEY, pin text UNIQUE CHECK (pin <> 'bad'), n int DEFAULT 7)
sql INSERT INTO secret VALUES (1, 'one', 1), (2, 'two', 2)
sql CREATE INDEX secret_n ON secret (n)
sql COMMENT ON TABLE secret IS 'hidden'
sql CREATE SEQUENCE secret_seq
sql CREATE VIEW secret_view AS SELECT * FROM secret
sql CREATE VIEW open_view AS SELECT id FROM secret
sql GRANT SELECT ON open_view TO mallory
sql CREATE VIEW invoker_view WITH (security_invoker = true) AS SELECT id FROM secret
sql GRANT SELECT ON invoker_view TO mallory
sql CREATE MATERIALIZED VIEW secret_mat AS SELECT * FROM secret
sql CREATE FUNCTION secret_fn(int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1'
sql REVOKE EXECUTE ON FUNCTION secret_fn(int) FROM PUBLIC
sql CREATE PROCEDURE secret_proc() LANGUAGE sql AS 'SELECT 1'
sql REVOKE EXECUTE ON PROCEDURE secret_proc() FROM PUBLIC
sql CREATE FUNCTION definer_count() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM public.secret'
sql CREATE FUNCTION definer_who() RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$ BEGIN RETURN current_user || ' ' || session_user || ' ' || current_setting('search_path'); END $$
sql CREATE FUNCTION definer_run(text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text; BEGIN EXECUTE $1 INTO r; RETURN r; END $$
sql CREATE FUNCTION trig() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$
sql CREATE TYPE secret_enum AS ENUM ('a', 'b')
sql REVOKE USAGE ON TYPE secret_enum FROM PUBLIC
sql CREATE TYPE secret_pair AS (a int, b int)
sql REVOKE USAGE ON TYPE secret_pair FROM PUBLIC
sql CREATE DOMAIN secret_domain AS int CHECK (VALUE > 0)
sql REVOKE USAGE ON DOMAIN secret_domain FROM PUBLIC
sql CREATE TABLE part (id int PRIMARY KEY, pin text, n int)
sql INSERT INTO part VALUES (1, 'one', 1)
sql GRANT SELECT (id), INSERT, UPDATE (n) ON part TO mallory
sql CREATE TABLE blind (id int PRIMARY KEY, pin text NOT NULL, CHECK (length(pin) < 5))
sql INSERT INTO blind VALUES (1, 'one')
sql GRANT INSERT ON blind TO mallory
sql CREATE TABLE halfblind (id int, pin text, UNIQUE (id, pin))
sql INSERT INTO halfblind VALUES (1, 'one')
sql GRANT INSERT, SELECT (id) ON halfblind TO mallory
sql CREATE TABLE child (id int REFERENCES secret)
sql GRANT INSERT, SELECT ON child TO mallory
sql CREATE TABLE guarded (id int, owner name)
sql INSERT INTO guarded VALUES (1, 'postgres'), (2, 'mallory')
sql ALTER TABLE guarded ENABLE ROW LEVEL SECURITY
sql CREATE POLICY own ON guarded USING (owner = current_user)
sql GRANT SELECT, INSERT, UPDATE, DELETE ON guarded TO mallory
sql CREATE TABLE parent (id int) PARTITION BY RANGE (id)
sql CREATE TABLE parent_1 PARTITION OF parent FOR VALUES FROM (0) TO (10)
sql CREATE SCHEMA mine AUTHORIZATION mallory
sql SELECT lo_create(4711)
sql CREATE STATISTICS secret_stat ON id, n FROM secret
sql CREATE RULE secret_rule AS ON UPDATE TO secret_view DO INSTEAD NOTHING
sql CREATE TRIGGER secret_trig BEFORE INSERT ON secret FOR EACH ROW EXECUTE FUNCTION trig()
== reading
login {"user": "mallory"}
> SELECT * FROM secret
< ERROR 42501 permission denied for table secret
> SELECT count(*) FROM secret
< ERROR 42501 permission denied for table secret
> SELECT 1 FROM secret
< ERROR 42501 permission denied for table secret
> TABLE secret
< ERROR 42501 permission denied for table secret
> SELECT id FROM secret_view
< ERROR 42501 permission denied for view secret_view
> SELECT id FROM open_view ORDER BY 1
< |1|
< |2|
< SELECT 2
> SELECT id FROM invoker_view
< ERROR 42501 permission denied for table secret
> SELECT * FROM secret_mat
< ERROR 42501 permission denied for materialized view secret_mat
> SELECT a FROM closed.t
< ERROR 42501 permission denied for schema closed
> SELECT * FROM secret_seq
< ERROR 42501 permission denied for sequence secret_seq
> SELECT nextval('secret_seq')
< ERROR 42501 permission denied for sequence secret_seq
> SELECT currval('secret_seq')
< ERROR 42501 permission denied for sequence secret_seq
> SELECT setval('secret_seq', 5)
< ERROR 42501 permission denied for sequence secret_seq
> SELECT secret_fn(1)
< ERROR 42501 permission denied for function secret_fn
> SELECT definer_count()
< |2|
< SELECT 1
> SELECT definer_who()
< |postgres mallory pg_catalog|
< SELECT 1
> SELECT definer_run('SELECT count(*) FROM secret')
< ERROR 42501 permission denied for table secret
> CALL secret_proc()
< ERROR 42501 permission denied for procedure secret_proc
> SELECT id FROM part
< |1|
< SELECT 1
> SELECT id, pin FROM part
< ERROR 42501 permission denied for table part
> SELECT * FROM part
< ERROR 42501 permission denied for table part
> SELECT part FROM part
< ERROR 42501 permission denied for table part
> SELECT count(*) FROM part
< |1|
< SELECT 1
> SELECT id FROM part WHERE pin = 'one'
< ERROR 42501 permission denied for table part
> SELECT id FROM part ORDER BY pin
< ERROR 42501 permission denied for table part
> SELECT id FROM part JOIN (SELECT 'one' AS pin) x USING (pin)
< ERROR 42501 permission denied for table part
> SELECT id FROM part FOR UPDATE
< |1|
< SELECT 1
> SELECT id, owner FROM guarded ORDER BY 1
< |2|mallory|
< SELECT 1
> SELECT 'a'::secret_enum
< |a|
< SELECT 1
> SELECT ROW(1, 2)::secret_pair
< |(1,2)|
< SELECT 1
> SELECT 1::secret_domain
< |1|
< SELECT 1
> SELECT NULL::secret
< |\N|
< SELECT 1
> SELECT lo_get(4711)
< ERROR 42501 permission denied for large object 4711
> SELECT loread(lo_open(4711, 262144), 10)
< ERROR 42501 permission denied for large object 4711
> SELECT lo_unlink(4711)
< ERROR 42501 must be owner of large object 4711
> SELECT lo_put(4711, 0, 'x')
< ERROR 42501 permission denied for large object 4711
> WITH x AS (SELECT * FROM secret) SELECT 1
< |1|
< SELECT 1
> SELECT EXISTS (SELECT 1 FROM secret)
< ERROR 42501 permission denied for table secret
> SELECT (SELECT pin FROM secret LIMIT 1)
< ERROR 42501 permission denied for table secret
> SELECT 1 UNION SELECT id FROM secret
< ERROR 42501 permission denied for table secret
> SELECT 1 WHERE 1 IN (SELECT id FROM secret)
< ERROR 42501 permission denied for table secret
> SELECT row_to_json(s) FROM secret s
< ERROR 42501 permission denied for table secret
> SELECT * FROM LATERAL (SELECT * FROM secret) x
< ERROR 42501 permission denied for table secret
> SELECT * FROM ONLY secret
< ERROR 42501 permission denied for table secret
> SELECT query_to_xml('SELECT * FROM secret', true, true, '')
< ERROR 42501 permission denied for table secret
> SELECT * FROM ts_stat('SELECT to_tsvector(pin) FROM secret')
< ERROR 42501 permission denied for table secret
> SELECT table_to_xml('secret', true, true, '')
< ERROR 0A000 unsupported XML feature
<   detail: This functionality requires the server to be built with libxml support.
> COPY secret TO STDOUT
< ERROR 42501 permission denied for table secret
> COPY (SELECT * FROM secret) TO STDOUT
< ERROR 42501 permission denied for table secret
> COPY part (pin) TO STDOUT
< ERROR 42501 permission denied for table part
> COPY part (id) TO STDOUT
< COPY 1
> COPY secret TO '/tmp/x'
< ERROR 42501 permission denied to COPY to a file
<   detail: Only roles with privileges of the "pg_write_server_files" role may COPY to a file.
<   hint: Anyone can COPY to stdout or from stdin. psql's \copy command also works for anyone.
> COPY mine.own FROM '/etc/passwd'
< ERROR 42501 permission denied to COPY from a file
<   detail: Only roles with privileges of the "pg_read_server_files" role may COPY from a file.
<   hint: Anyone can COPY to stdout or from stdin. psql's \copy command also works for anyone.
> COPY (SELECT 1) TO PROGRAM 'true'
< ERROR 42501 permission denied to COPY to or from an external program
<   detail: Only roles with privileges of the "pg_execute_server_program" role may COPY to or from an external program.
<   hint: Anyone can COPY to stdout or from stdin. psql's \copy command also works for anyone.
> DECLARE c CURSOR WITH HOLD FOR SELECT * FROM secret
< ERROR 42501 permission denied for table secret
> PREPARE p AS SELECT * FROM secret
< PREPARE
> EXECUTE p
< ERROR 42501 permission denied for table secret
> EXPLAIN SELECT * FROM secret
< ERROR 42501 permission denied for table secret
> EXPLAIN ANALYZE SELECT * FROM secret_view
< ERROR 42501 permission denied for view secret_view
> EXPLAIN DELETE FROM secret
< ERROR 42501 permission denied for table secret
> EXPLAIN EXECUTE p
< ERROR 42501 permission denied for table secret
> BEGIN; LOCK TABLE secret; COMMIT
< BEGIN
< ERROR 42501 permission denied for table secret
> ROLLBACK
< ROLLBACK
> BEGIN; LOCK TABLE secret IN ACCESS SHARE MODE; COMMIT
< BEGIN
< ERROR 42501 permission denied for table secret
> ROLLBACK
< ROLLBACK
> BEGIN; LOCK TABLE part IN ROW EXCLUSIVE MODE; COMMIT
< BEGIN
< LOCK TABLE
< COMMIT
> ROLLBACK
< WARNING 25P01 there is no transaction in progress
< ROLLBACK
> BEGIN; LOCK TABLE part IN ACCESS EXCLUSIVE MODE; COMMIT
< BEGIN
< ERROR 42501 permission denied for table part
> ROLLBACK
< ROLLBACK
== writing
login {"user": "mallory"}
> INSERT INTO secret VALUES (3, 'x', 3)
< ERROR 42501 permission denied for table secret
> INSERT INTO secret DEFAULT VALUES
< ERROR 42501 permission denied for table secret
> UPDATE secret SET n = 0
< ERROR 42501 permission denied for table secret
> DELETE FROM secret
< ERROR 42501 permission denied for table secret
> TRUNCATE secret
< ERROR 42501 permission denied for table secret
> TRUNCATE part
< ERROR 42501 permission denied for table part
> MERGE INTO secret USING (SELECT 1 AS x) s ON id = x WHEN MATCHED THEN DELETE
< ERROR 42501 permission denied for table secret
> MERGE INTO part USING (SELECT 1 AS x) s ON id = x WHEN MATCHED THEN DELETE
< ERROR 42501 permission denied for table part
> MERGE INTO part USING (SELECT 1 AS x) s ON id = x WHEN MATCHED THEN UPDATE SET pin = 'x'
< ERROR 42501 permission denied for table part
> INSERT INTO part VALUES (2, 'two', 2) RETURNING pin
< ERROR 42501 permission denied for table part
> INSERT INTO part VALUES (2, 'two', 2) RETURNING id
< |2|
< INSERT 0 1
> INSERT INTO part VALUES (2, 'two', 2) ON CONFLICT DO NOTHING
< INSERT 0 0
> INSERT INTO part VALUES (2, 'two', 2) ON CONFLICT (id) DO UPDATE SET pin = 'x'
< ERROR 42501 permission denied for table part
> INSERT INTO part VALUES (2, 'two', 2) ON CONFLICT (id) DO UPDATE SET n = excluded.n
< ERROR 42501 permission denied for table part
> INSERT INTO part VALUES (2, 'two', 2) ON CONFLICT (pin) DO NOTHING
< ERROR 42P10 there is no unique or exclusion constraint matching the ON CONFLICT specification
> UPDATE part SET n = 5
< UPDATE 2
> UPDATE part SET n = 5 WHERE id = 1
< UPDATE 1
> UPDATE part SET n = n + 1 WHERE id = 1
< ERROR 42501 permission denied for table part
> UPDATE part SET n = 5 WHERE pin = 'one'
< ERROR 42501 permission denied for table part
> UPDATE part SET pin = 'x'
< ERROR 42501 permission denied for table part
> DELETE FROM part
< ERROR 42501 permission denied for table part
> DELETE FROM part WHERE id = 1
< ERROR 42501 permission denied for table part
> INSERT INTO blind SELECT * FROM secret
< ERROR 42601 INSERT has more expressions than target columns
> INSERT INTO blind (id, pin) SELECT id, 'x' FROM blind
< ERROR 42501 permission denied for table blind
> UPDATE secret_view SET n = 1
< UPDATE 0
> INSERT INTO open_view VALUES (9)
< ERROR 42501 permission denied for view open_view
> DELETE FROM open_view
< ERROR 42501 permission denied for view open_view
> INSERT INTO parent VALUES (1)
< ERROR 42501 permission denied for table parent
> INSERT INTO parent_1 VALUES (1)
< ERROR 42501 permission denied for table parent_1
> INSERT INTO guarded VALUES (3, 'postgres')
< ERROR 42501 new row violates row-level security policy for table "guarded"
> INSERT INTO guarded VALUES (3, 'mallory')
< INSERT 0 1
> UPDATE guarded SET owner = 'postgres'
< ERROR 42501 new row violates row-level security policy for table "guarded"
> UPDATE guarded SET id = 9 WHERE id = 1
< UPDATE 0
> DELETE FROM guarded WHERE id = 1
< DELETE 0
> REFRESH MATERIALIZED VIEW secret_mat
< ERROR 42501 permission denied for materialized view secret_mat
> VACUUM secret
< WARNING 01000 permission denied to vacuum "secret", skipping it
< VACUUM
> ANALYZE secret
< WARNING 01000 permission denied to analyze "secret", skipping it
< ANALYZE
> REINDEX TABLE secret
< ERROR 42501 permission denied for table secret
> REINDEX INDEX secret_n
< ERROR 42501 permission denied for index secret_n
> CLUSTER secret USING secret_pkey
< ERROR 42501 permission denied for table secret
> CHECKPOINT
< ERROR 42501 permission denied to execute CHECKPOINT command
<   detail: Only roles with privileges of the "pg_checkpoint" role may execute this command.
== what errors tell
login {"user": "mallory"}
> INSERT INTO blind VALUES (1, 'two')
< ERROR 23505 duplicate key value violates unique constraint "blind_pkey"
> INSERT INTO blind VALUES (2, 'too long')
< ERROR 23514 new row for relation "blind" violates check constraint "blind_pin_check"
<   detail: Failing row contains (id, pin) = (2, too long).
> INSERT INTO blind VALUES (2, NULL)
< ERROR 23502 null value in column "pin" of relation "blind" violates not-null constraint
<   detail: Failing row contains (id, pin) = (2, null).
> INSERT INTO blind VALUES (2, 'ok')
< INSERT 0 1
> INSERT INTO halfblind VALUES (1, 'one')
< ERROR 23505 duplicate key value violates unique constraint "halfblind_id_pin_key"
> INSERT INTO part VALUES (1, 'secret of others', 1)
< ERROR 23505 duplicate key value violates unique constraint "part_pkey"
<   detail: Key (id)=(1) already exists.
> INSERT INTO child VALUES (1)
< INSERT 0 1
> INSERT INTO child VALUES (99)
< ERROR 23503 insert or update on table "child" violates foreign key constraint "child_id_fkey"
<   detail: Key (id)=(99) is not present in table "secret".
> DELETE FROM child
< ERROR 42501 permission denied for table child
> INSERT INTO guarded VALUES (7, 'victim')
< ERROR 42501 new row violates row-level security policy for table "guarded"
> SELECT nosuch FROM secret
< ERROR 42703 column "nosuch" does not exist
> SELECT secret.nosuch FROM secret
< ERROR 42703 column secret.nosuch does not exist
> SELECT * FROM nosuch
< ERROR 42P01 relation "nosuch" does not exist
> SELECT * FROM closed.nosuch
< ERROR 42501 permission denied for schema closed
> SELECT closed.nosuch()
< ERROR 42501 permission denied for schema closed
> SELECT 'closed.t'::regclass
< ERROR 42501 permission denied for schema closed
> SELECT 'closed.nosuch'::regclass
< ERROR 42501 permission denied for schema closed
> SELECT to_regclass('closed.t')
< ERROR 42501 permission denied for schema closed
> SELECT has_table_privilege('secret', 'SELECT'), has_table_privilege('mallory', 'secret', 'INSERT'), has_column_privilege('part', 'pin', 'SELECT')
< |f|f|f|
< SELECT 1
> SELECT has_table_privilege('nosuch', 'secret', 'SELECT')
< ERROR 42704 role "nosuch" does not exist
> SELECT pg_get_viewdef('secret_view'::regclass) IS NOT NULL
< |t|
< SELECT 1
> SELECT pg_get_functiondef('secret_fn'::regproc) IS NOT NULL
< |t|
< SELECT 1
> SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'secret_pin_check'
< |CHECK ((pin <> 'bad'::text))|
< SELECT 1
> SELECT obj_description('secret'::regclass)
< |hidden|
< SELECT 1
> SELECT pg_relation_size('secret') > 0
< |t|
< SELECT 1
> SELECT pg_get_serial_sequence('secret', 'id')
< |\N|
< SELECT 1
> SELECT pg_size_pretty(pg_database_size(current_database())) IS NOT NULL
< |t|
< SELECT 1
> SELECT pg_sequence_last_value('secret_seq')
< |\N|
< SELECT 1
> SELECT last_value IS NULL FROM pg_sequences WHERE sequencename = 'secret_seq'
< |t|
< SELECT 1
> SELECT count(*) FROM pg_stats WHERE tablename = 'secret'
< |0|
< SELECT 1
> SELECT count(*) FROM pg_stats_ext WHERE tablename = 'secret'
< |0|
< SELECT 1
> SELECT count(*) FROM pg_statistic
< ERROR 42501 permission denied for table pg_statistic
> SELECT count(*) FROM pg_statistic_ext_data
< ERROR 42501 permission denied for table pg_statistic_ext_data
> SELECT count(*) FROM pg_authid
< ERROR 42501 permission denied for table pg_authid
> SELECT count(*) FROM pg_shadow
< ERROR 42501 permission denied for view pg_shadow
> SELECT rolpassword FROM pg_roles WHERE rolname = 'mallory'
< |********|
< SELECT 1
> SELECT passwd FROM pg_user WHERE usename = 'mallory'
< |********|
< SELECT 1
> SELECT count(*) FROM pg_largeobject
< ERROR 42501 permission denied for table pg_largeobject
> SELECT count(*) FROM pg_largeobject_metadata WHERE oid = 4711
< |1|
< SELECT 1
> SELECT count(*) FROM pg_user_mapping
< ERROR 42501 permission denied for table pg_user_mapping
> SELECT count(*) FROM pg_subscription
< |0|
< SELECT 1
> SELECT count(*) FROM pg_hba_file_rules
< ERROR 42501 permission denied for view pg_hba_file_rules
> SELECT count(*) FROM pg_file_settings
< ERROR 42501 permission denied for view pg_file_settings
> SELECT count(*) FROM pg_config
< ERROR 42501 permission denied for view pg_config
> SELECT count(*) FROM pg_backend_memory_contexts
< ERROR 42501 permission denied for view pg_backend_memory_contexts
> SELECT count(*) FROM pg_shmem_allocations
< ERROR 42501 permission denied for view pg_shmem_allocations
> SELECT count(*) FROM pg_ls_dir('.')
< ERROR 42501 permission denied for function pg_ls_dir
> SELECT pg_read_file('/etc/passwd')
< ERROR 42501 permission denied for function pg_read_file
> SELECT pg_stat_file('/etc/passwd')
< ERROR 42501 permission denied for function pg_stat_file
> SELECT pg_read_binary_file('/etc/passwd')
< ERROR 42501 permission denied for function pg_read_binary_file
> SELECT lo_import('/etc/passwd')
< ERROR 42501 permission denied for function lo_import
> SELECT lo_export(4711, '/tmp/x')
< ERROR 42501 permission denied for function lo_export
> SELECT pg_reload_conf()
< ERROR 42501 permission denied for function pg_reload_conf
> SELECT pg_rotate_logfile()
< ERROR 42501 permission denied for function pg_rotate_logfile
> SELECT pg_switch_wal()
< ERROR 42501 permission denied for function pg_switch_wal
> SELECT pg_stat_reset()
< ERROR 42501 permission denied for function pg_stat_reset
> SELECT pg_stat_reset_shared('bgwriter')
< ERROR 42501 permission denied for function pg_stat_reset_shared
> SELECT pg_current_logfile()
< ERROR 42501 permission denied for function pg_current_logfile
> SELECT count(*) FROM pg_stat_activity WHERE usename = 'postgres' AND query NOT LIKE '<insufficient%' AND query <> ''
< |0|
< SELECT 1
> SELECT count(*) FROM pg_stat_activity WHERE usename = 'postgres' AND (client_addr IS NOT NULL OR state IS NOT NULL)
< |0|
< SELECT 1
> SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres' AND pid <> pg_backend_pid()
< ERROR 42501 permission denied to terminate process
<   detail: Only roles with the SUPERUSER attribute may terminate processes of roles with the SUPERUSER attribute.
> SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres' AND pid <> pg_backend_pid()
< ERROR 42501 permission denied to cancel query
<   detail: Only roles with the SUPERUSER attribute may cancel queries of roles with the SUPERUSER attribute.
> SHOW data_directory
< ERROR 42501 permission denied to examine "data_directory"
<   detail: Only roles with privileges of the "pg_read_all_settings" role may examine this parameter.
> SHOW config_file
< ERROR 42501 permission denied to examine "config_file"
<   detail: Only roles with privileges of the "pg_read_all_settings" role may examine this parameter.
> SHOW hba_file
< ERROR 42501 permission denied to examine "hba_file"
<   detail: Only roles with privileges of the "pg_read_all_settings" role may examine this parameter.
> SHOW dynamic_library_path
< ERROR 42501 permission denied to examine "dynamic_library_path"
<   detail: Only roles with privileges of the "pg_read_all_settings" role may examine this parameter.
> SHOW shared_preload_libraries
< ERROR 42501 permission denied to examine "shared_preload_libraries"
<   detail: Only roles with privileges of the "pg_read_all_settings" role may examine this parameter.
> SHOW krb_server_keyfile
< ERROR 42501 permission denied to examine "krb_server_keyfile"
<   detail: Only roles with privileges of the "pg_read_all_settings" role may examine this parameter.
> SELECT current_setting('data_directory')
< ERROR 42501 permission denied to examine "data_directory"
<   detail: Only roles with privileges of the "pg_read_all_settings" role may examine this parameter.
> SELECT current_setting('hba_file', true)
< ERROR 42501 permission denied to examine "hba_file"
<   detail: Only roles with privileges of the "pg_read_all_settings" role may examine this parameter.
> SELECT count(*) FROM pg_settings WHERE name IN ('data_directory', 'config_file', 'hba_file')
< |0|
< SELECT 1
> SELECT view_definition IS NULL FROM information_schema.views WHERE table_name = 'secret_view'
< SELECT 0
> SELECT count(*) FROM information_schema.tables WHERE table_name = 'secret'
< |0|
< SELECT 1
> SELECT count(*) FROM information_schema.columns WHERE table_name = 'part'
< |3|
< SELECT 1
> SELECT count(*) FROM information_schema.check_constraints WHERE constraint_name = 'secret_pin_check'
< |0|
< SELECT 1
> SELECT count(*) FROM information_schema.sequences WHERE sequence_name = 'secret_seq'
< |0|
< SELECT 1
> SELECT count(*) FROM information_schema.routines WHERE routine_name = 'secret_fn'
< |0|
< SELECT 1
> SELECT routine_definition FROM information_schema.routines WHERE routine_name = 'definer_count'
< |\N|
< SELECT 1
> SELECT column_default IS NULL FROM information_schema.columns WHERE table_name = 'secret' AND column_name = 'n'
< SELECT 0
> SELECT count(*) FROM information_schema.triggers WHERE trigger_name = 'secret_trig'
< |0|
< SELECT 1
> UPDATE pg_class SET relowner = 10
< ERROR 42501 permission denied for table pg_class
> DELETE FROM pg_class
< ERROR 42501 permission denied for table pg_class
> INSERT INTO pg_class SELECT * FROM pg_class
< ERROR 42501 permission denied for table pg_class
> UPDATE pg_authid SET rolsuper = true
< ERROR 42501 permission denied for table pg_authid
> UPDATE pg_settings SET setting = 'on' WHERE name = 'log_duration'
< ERROR 42501 permission denied to set parameter "log_duration"
> UPDATE pg_settings SET setting = '8MB' WHERE name = 'work_mem' AND false
< UPDATE 0
> TRUNCATE pg_class
< ERROR 42501 permission denied: "pg_class" is a system catalog
> DROP TABLE pg_class
< ERROR 42501 must be owner of table pg_class
> ALTER TABLE pg_class ADD COLUMN x int
< ERROR 42501 must be owner of table pg_class
== what is SQLite's
login {"user": "mallory"}
> SELECT * FROM sqlite_master
< ERROR 42P01 relation "sqlite_master" does not exist
> SELECT * FROM sqlite_schema
< ERROR 42P01 relation "sqlite_schema" does not exist
> SELECT * FROM sqlite_sequence
< ERROR 42P01 relation "sqlite_sequence" does not exist
> SELECT * FROM main.sqlite_schema
< ERROR 42P01 relation "main.sqlite_schema" does not exist
> SELECT * FROM "__pgsqlite_object"
< ERROR 42P01 relation "__pgsqlite_object" does not exist
> SELECT * FROM public."__pgsqlite_object"
< ERROR 42P01 relation "public.__pgsqlite_object" does not exist
> SELECT * FROM public."__pgsqlite_role"
< ERROR 42P01 relation "public.__pgsqlite_role" does not exist
> SELECT * FROM "__pgsqlite_meta"
< ERROR 42P01 relation "__pgsqlite_meta" does not exist
> SELECT * FROM main.secret
< ERROR 42P01 relation "main.secret" does not exist
> SELECT * FROM temp.secret
< ERROR 42P01 relation "temp.secret" does not exist
> SELECT * FROM pragma_table_info('secret')
< ERROR 42883 function pragma_table_info(unknown) does not exist
<   hint: No function matches the given name and argument types. You might need to add explicit type casts.
> SELECT * FROM pragma_database_list
< ERROR 42P01 relation "pragma_database_list" does not exist
> SELECT * FROM json_each('[1]')
< ERROR 22023 cannot deconstruct an array as an object
> SELECT * FROM sqlite_dbpage
< ERROR 42P01 relation "sqlite_dbpage" does not exist
> SELECT * FROM dbstat
< ERROR 42P01 relation "dbstat" does not exist
> SELECT sqlite_version()
< ERROR 42883 function sqlite_version() does not exist
<   hint: No function matches the given name and argument types. You might need to add explicit type casts.
> SELECT load_extension('x')
< ERROR 42883 function load_extension(unknown) does not exist
<   hint: No function matches the given name and argument types. You might need to add explicit type casts.
> SELECT writefile('x', 'y')
< ERROR 42883 function writefile(unknown, unknown) does not exist
<   hint: No function matches the given name and argument types. You might need to add explicit type casts.
> SELECT readfile('/etc/passwd')
< ERROR 42883 function readfile(unknown) does not exist
<   hint: No function matches the given name and argument types. You might need to add explicit type casts.
> SELECT randomblob(10)
< ERROR 42883 function randomblob(integer) does not exist
<   hint: No function matches the given name and argument types. You might need to add explicit type casts.
> SELECT zeroblob(10)
< ERROR 42883 function zeroblob(integer) does not exist
<   hint: No function matches the given name and argument types. You might need to add explicit type casts.
> SELECT hex('a')
< ERROR 42883 function hex(unknown) does not exist
<   hint: No function matches the given name and argument types. You might need to add explicit type casts.
> SELECT last_insert_rowid()
< ERROR 42883 function last_insert_rowid() does not exist
<   hint: No function matches the given name and argument types. You might need to add explicit type casts.
> SELECT pg_call(1, '')
< ERROR 42883 function pg_call(integer, unknown) does not exist
<   hint: No function matches the given name and argument types. You might need to add explicit type casts.
> SELECT rowid FROM open_view
< ERROR 42703 column "rowid" does not exist
> SELECT _rowid_ FROM child
< ERROR 42703 column "_rowid_" does not exist
> SELECT oid FROM child
< ERROR 42703 column "oid" does not exist
<   hint: Perhaps you meant to reference the column "child.id".
> PRAGMA table_info(secret)
< ERROR 42601 syntax error at or near "PRAGMA"
> PRAGMA writable_schema = 1
< ERROR 42601 syntax error at or near "PRAGMA"
> ATTACH DATABASE 'x' AS y
< ERROR 42601 syntax error at or near "ATTACH"
> DETACH DATABASE main
< ERROR 42601 syntax error at or near "DETACH"
== making
login {"user": "mallory"}
> CREATE TABLE public.own (a int)
< ERROR 42501 permission denied for schema public
> CREATE TABLE closed.own (a int)
< ERROR 42501 permission denied for schema closed
> CREATE TABLE mine.own (a int, b text)
< CREATE TABLE
> CREATE TABLE mine.copied (LIKE secret INCLUDING ALL)
< ERROR 42501 permission denied for table secret
> CREATE TABLE mine.copied2 (LIKE part)
< ERROR 42501 permission denied for table part
> CREATE TABLE mine.heir () INHERITS (secret)
< ERROR 42501 must be owner of table secret
> CREATE TABLE mine.part PARTITION OF parent FOR VALUES FROM (10) TO (20)
< ERROR 42501 must be owner of table parent
> CREATE TABLE mine.fk (id int REFERENCES secret)
< ERROR 42501 permission denied for table secret
> CREATE TABLE mine.fk2 (id int REFERENCES part (id))
< ERROR 42501 permission denied for table part
> CREATE TABLE mine.e (a secret_enum)
< ERROR 42501 permission denied for type secret_enum
> CREATE TABLE mine.d (a secret_domain)
< ERROR 42501 permission denied for type secret_domain
> CREATE TABLE mine.p (a secret_pair)
< ERROR 42501 permission denied for type secret_pair
> CREATE TABLE mine.of OF secret_pair
< ERROR 42501 permission denied for type secret_pair
> CREATE TABLE mine.rt (a secret)
< CREATE TABLE
> CREATE TABLE mine.ctas AS SELECT * FROM secret
< ERROR 42501 permission denied for table secret
> SELECT * INTO mine.into FROM secret
< ERROR 42501 permission denied for table secret
> CREATE TEMP TABLE tmp AS SELECT * FROM secret
< ERROR 42501 permission denied for table secret
> CREATE TEMP TABLE tmp (LIKE secret)
< ERROR 42501 permission denied for table secret
> CREATE VIEW mine.v AS SELECT * FROM secret
< CREATE VIEW
> SELECT * FROM mine.v
< ERROR 42501 permission denied for table secret
> DROP VIEW mine.v
< DROP VIEW
> CREATE MATERIALIZED VIEW mine.m AS SELECT * FROM secret
< ERROR 42501 permission denied for table secret
> CREATE INDEX ON secret (pin)
< ERROR 42501 must be owner of table secret
> CREATE UNIQUE INDEX ON mine.own (a)
< CREATE INDEX
> CREATE SEQUENCE mine.s OWNED BY secret.id
< ERROR 55000 sequence must have same owner as table it is linked to
> CREATE SEQUENCE public.s
< ERROR 42501 permission denied for schema public
> CREATE SEQUENCE mine.s
< CREATE SEQUENCE
> CREATE TRIGGER tr BEFORE INSERT ON secret FOR EACH ROW EXECUTE FUNCTION trig()
< ERROR 42501 permission denied for table secret
> CREATE TRIGGER tr BEFORE INSERT ON mine.own FOR EACH ROW EXECUTE FUNCTION trig()
< CREATE TRIGGER
> CREATE RULE r AS ON INSERT TO secret DO NOTHING
< ERROR 42501 must be owner of table secret
> CREATE POLICY p ON secret USING (true)
< ERROR 42501 must be owner of table secret
> CREATE STATISTICS mine.st ON id, n FROM secret
< ERROR 42501 must be owner of table secret
> CREATE FUNCTION public.f() RETURNS int LANGUAGE sql AS 'SELECT 1'
< ERROR 42501 permission denied for schema public
> CREATE FUNCTION mine.f() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM public.secret'
< CREATE FUNCTION
> SELECT mine.f()
< ERROR 42501 permission denied for table secret
> CREATE OR REPLACE FUNCTION definer_count() RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint'
< ERROR 42501 permission denied for schema public
> CREATE FUNCTION mine.c() RETURNS int LANGUAGE c AS 'x', 'y'
< ERROR 42501 permission denied for language c
> CREATE FUNCTION mine.i(int) RETURNS int LANGUAGE internal AS 'int4abs'
< ERROR 42501 permission denied for language internal
> CREATE LANGUAGE mine HANDLER plpgsql_call_handler
< ERROR 42501 must be superuser to create custom procedural language
> CREATE PROCEDURE mine.p() LANGUAGE sql AS 'DELETE FROM public.secret'
< CREATE PROCEDURE
> CALL mine.p()
< ERROR 42501 permission denied for table secret
> DO $$ BEGIN DELETE FROM secret; END $$
< ERROR 42501 permission denied for table secret
> DO $$ BEGIN PERFORM secret_fn(1); END $$
< ERROR 42501 permission denied for function secret_fn
> CREATE AGGREGATE mine.agg (int) (SFUNC = secret_fn, STYPE = int)
< ERROR 42883 function secret_fn(integer, integer) does not exist
> CREATE OPERATOR mine.+++ (RIGHTARG = int, FUNCTION = secret_fn)
< ERROR 42601 syntax error at or near "+"
> CREATE CAST (secret_pair AS text) WITH INOUT
< ERROR 42501 must be owner of type secret_pair or type text
> CREATE TYPE public.ty AS ENUM ('a')
< ERROR 42501 permission denied for schema public
> CREATE TYPE mine.ty AS (a secret_enum)
< ERROR 42501 permission denied for type secret_enum
> CREATE DOMAIN mine.dom AS secret_domain
< ERROR 42501 permission denied for type secret_domain
> CREATE SCHEMA another
< ERROR 42501 permission denied for database entry
> CREATE SCHEMA IF NOT EXISTS mine
< ERROR 42501 permission denied for database entry
> CREATE SCHEMA another AUTHORIZATION postgres
< ERROR 42501 permission denied for database entry
> CREATE ROLE newrole
< ERROR 42501 permission denied to create role
<   detail: Only roles with the CREATEROLE attribute may create roles.
> CREATE USER newuser SUPERUSER
< ERROR 42501 permission denied to create role
<   detail: Only roles with the CREATEROLE attribute may create roles.
> CREATE GROUP newgroup
< ERROR 42501 permission denied to create role
<   detail: Only roles with the CREATEROLE attribute may create roles.
> CREATE DATABASE newdb
< ERROR 42501 permission denied to create database
> CREATE TABLESPACE ts LOCATION '/tmp'
< ERROR 42501 permission denied to create tablespace "ts"
<   hint: Must be superuser to create a tablespace.
> CREATE EXTENSION pg_trgm
< ERROR 42501 permission denied to create extension "pg_trgm"
<   hint: Must have CREATE privilege on current database to create this extension.
> CREATE LANGUAGE plx
< ERROR 0A000 extension "plx" is not available
<   hint: The extension must first be installed on the system where PostgreSQL is running.
> CREATE FOREIGN DATA WRAPPER w
< ERROR 42501 permission denied to create foreign-data wrapper "w"
<   hint: Must be superuser to create a foreign-data wrapper.
> CREATE SERVER s FOREIGN DATA WRAPPER w
< ERROR 42704 foreign-data wrapper "w" does not exist
> CREATE FOREIGN TABLE mine.ft (a int) SERVER s
< ERROR 42704 server "s" does not exist
> CREATE USER MAPPING FOR mallory SERVER s
< ERROR 42704 server "s" does not exist
> CREATE EVENT TRIGGER et ON ddl_command_start EXECUTE FUNCTION trig()
< ERROR 42501 permission denied to create event trigger "et"
<   hint: Must be superuser to create an event trigger.
> CREATE PUBLICATION pub FOR TABLE secret
< ERROR 42501 permission denied for database entry
> CREATE PUBLICATION pub FOR ALL TABLES
< ERROR 42501 permission denied for database entry
> CREATE SUBSCRIPTION sub CONNECTION 'x' PUBLICATION p
< ERROR 42501 permission denied to create subscription
<   detail: Only roles with privileges of the "pg_create_subscription" role may create subscriptions.
> CREATE TEXT SEARCH CONFIGURATION public.c (COPY = english)
< ERROR 42501 permission denied for schema public
> CREATE TEXT SEARCH PARSER p (START = x)
< ERROR 42501 must be superuser to create text search parsers
> CREATE ACCESS METHOD am TYPE INDEX HANDLER x
< ERROR 42501 permission denied to create access method "am"
<   hint: Must be superuser to create an access method.
> CREATE COLLATION public.coll FROM "C"
< ERROR 42501 permission denied for schema public
> CREATE CONVERSION public.conv FOR 'UTF8' TO 'LATIN1' FROM utf8_to_iso8859_1
< ERROR 42501 permission denied for schema public
> CREATE TRANSFORM FOR int LANGUAGE sql (FROM SQL WITH FUNCTION x(internal))
< ERROR 42501 must be owner of type integer
> IMPORT FOREIGN SCHEMA x FROM SERVER s INTO mine
< ERROR 42704 server "s" does not exist
> LOAD 'x'
< ERROR 42501 access to library "x" is not allowed
> SECURITY LABEL ON TABLE secret IS 'x'
< ERROR 22023 no security label providers have been loaded
> COMMENT ON TABLE secret IS 'x'
< ERROR 42501 must be owner of table secret
> COMMENT ON COLUMN secret.pin IS 'x'
< ERROR 42501 must be owner of relation secret
> COMMENT ON ROLE victim IS 'x'
< ERROR 42501 permission denied
<   detail: The current user must have the CREATEROLE attribute.
> COMMENT ON DATABASE entry IS 'x'
< ERROR 42501 must be owner of database entry
> COMMENT ON SCHEMA closed IS 'x'
< ERROR 42501 must be owner of schema closed
> COMMENT ON FUNCTION secret_fn(int) IS 'x'
< ERROR 42501 must be owner of function secret_fn
> COMMENT ON LARGE OBJECT 4711 IS 'x'
< ERROR 42501 must be owner of large object 4711
== changing and removing
login {"user": "mallory"}
> ALTER TABLE secret ADD COLUMN x int
< ERROR 42501 must be owner of table secret
> ALTER TABLE secret DROP COLUMN n
< ERROR 42501 must be owner of table secret
> ALTER TABLE secret ALTER COLUMN n DROP DEFAULT
< ERROR 42501 must be owner of table secret
> ALTER TABLE secret RENAME TO other
< ERROR 42501 must be owner of table secret
> ALTER TABLE secret RENAME COLUMN n TO m
< ERROR 42501 must be owner of table secret
> ALTER TABLE secret OWNER TO mallory
< ERROR 42501 must be owner of table secret
> ALTER TABLE secret SET SCHEMA mine
< ERROR 42501 must be owner of table secret
> ALTER TABLE secret DISABLE TRIGGER ALL
< ERROR 42501 must be owner of table secret
> ALTER TABLE guarded DISABLE ROW LEVEL SECURITY
< ERROR 42501 must be owner of table guarded
> ALTER TABLE secret CLUSTER ON secret_pkey
< ERROR 42501 must be owner of table secret
> ALTER TABLE mine.own INHERIT secret
< ERROR 42501 must be owner of table secret
> ALTER TABLE parent DETACH PARTITION parent_1
< ERROR 42501 must be owner of table parent
> ALTER TABLE mine.own OWNER TO postgres
< ERROR 42501 must be able to SET ROLE "postgres"
> ALTER TABLE mine.own SET SCHEMA closed
< ERROR 42501 permission denied for schema closed
> ALTER TABLE mine.own SET SCHEMA public
< ERROR 42501 permission denied for schema public
> ALTER TABLE mine.own ADD CONSTRAINT fk FOREIGN KEY (a) REFERENCES secret
< ERROR 42501 permission denied for table secret
> ALTER TABLE mine.own ADD COLUMN e secret_enum
< ERROR 42501 permission denied for type secret_enum
> ALTER TABLE mine.own ALTER COLUMN a TYPE secret_domain
< ERROR 42501 permission denied for type secret_domain
> ALTER INDEX secret_n RENAME TO x
< ERROR 42501 must be owner of index secret_n
> ALTER SEQUENCE secret_seq RESTART
< ERROR 42501 must be owner of sequence secret_seq
> ALTER SEQUENCE secret_seq OWNER TO mallory
< ERROR 42501 must be owner of sequence secret_seq
> ALTER SEQUENCE mine.s OWNED BY secret.id
< ERROR 55000 sequence must have same owner as table it is linked to
> ALTER VIEW secret_view RENAME TO x
< ERROR 42501 must be owner of view secret_view
> ALTER VIEW secret_view OWNER TO mallory
< ERROR 42501 must be owner of view secret_view
> ALTER MATERIALIZED VIEW secret_mat RENAME TO x
< ERROR 42501 must be owner of materialized view secret_mat
> ALTER FUNCTION secret_fn(int) RENAME TO x
< ERROR 42501 must be owner of function secret_fn
> ALTER FUNCTION secret_fn(int) OWNER TO mallory
< ERROR 42501 must be owner of function secret_fn
> ALTER FUNCTION definer_count() SECURITY INVOKER
< ERROR 42501 must be owner of function definer_count
> ALTER FUNCTION mine.f() SECURITY DEFINER
< ALTER FUNCTION
> ALTER FUNCTION mine.f() OWNER TO postgres
< ERROR 42501 must be able to SET ROLE "postgres"
> ALTER FUNCTION mine.f() SET search_path = public
< ALTER FUNCTION
> ALTER FUNCTION mine.f() SET log_statement = 'all'
< ERROR 42501 permission denied to set parameter "log_statement"
> ALTER FUNCTION mine.f() SET role = postgres
< NOTICE 42501 permission will be denied to set role "postgres"
< ALTER FUNCTION
> ALTER PROCEDURE secret_proc() RENAME TO x
< ERROR 42501 must be owner of function secret_proc
> ALTER ROUTINE secret_fn(int) COST 5
< ERROR 42501 must be owner of routine secret_fn
> ALTER TYPE secret_enum ADD VALUE 'c'
< ERROR 42501 must be owner of type secret_enum
> ALTER TYPE secret_enum OWNER TO mallory
< ERROR 42501 must be owner of type secret_enum
> ALTER TYPE secret_pair ADD ATTRIBUTE c int
< ERROR 42501 must be owner of table secret_pair
> ALTER DOMAIN secret_domain DROP NOT NULL
< ERROR 42501 must be owner of type secret_domain
> ALTER SCHEMA closed RENAME TO opened
< ERROR 42501 must be owner of schema closed
> ALTER SCHEMA closed OWNER TO mallory
< ERROR 42501 must be owner of schema closed
> ALTER SCHEMA mine OWNER TO postgres
< ERROR 42501 must be able to SET ROLE "postgres"
> ALTER TRIGGER secret_trig ON secret RENAME TO x
< ERROR 42501 must be owner of table secret
> ALTER RULE secret_rule ON secret_view RENAME TO x
< ERROR 42501 must be owner of view secret_view
> ALTER POLICY own ON guarded USING (true)
< ERROR 42501 must be owner of table guarded
> ALTER STATISTICS secret_stat RENAME TO x
< ERROR 42501 must be owner of statistics object secret_stat
> ALTER LARGE OBJECT 4711 OWNER TO mallory
< ERROR 42501 must be owner of large object 4711
> ALTER ROLE mallory SUPERUSER
< ERROR 42501 permission denied to alter role
<   detail: Only roles with the SUPERUSER attribute may change the SUPERUSER attribute.
> ALTER ROLE mallory CREATEROLE
< ERROR 42501 permission denied to alter role
<   detail: Only roles with the CREATEROLE attribute and the ADMIN option on role "mallory" may alter this role.
> ALTER ROLE mallory BYPASSRLS
< ERROR 42501 permission denied to alter role
<   detail: Only roles with the CREATEROLE attribute and the ADMIN option on role "mallory" may alter this role.
> ALTER ROLE victim PASSWORD 'x'
< ERROR 42501 permission denied to alter role
<   detail: To change another role's password, the current user must have the CREATEROLE attribute and the ADMIN option on the role.
> ALTER ROLE victim RENAME TO x
< ERROR 42501 permission denied to rename role
<   detail: Only roles with the CREATEROLE attribute and the ADMIN option on role "victim" may rename this role.
> ALTER ROLE postgres PASSWORD 'x'
< ERROR 42501 permission denied to alter role
<   detail: Only roles with the SUPERUSER attribute may alter roles with the SUPERUSER attribute.
> ALTER ROLE mallory PASSWORD 'x'
< ALTER ROLE
> ALTER ROLE mallory CONNECTION LIMIT 5
< ERROR 42501 permission denied to alter role
<   detail: Only roles with the CREATEROLE attribute and the ADMIN option on role "mallory" may alter this role.
> ALTER ROLE mallory VALID UNTIL 'infinity'
< ERROR 42501 permission denied to alter role
<   detail: Only roles with the CREATEROLE attribute and the ADMIN option on role "mallory" may alter this role.
> ALTER ROLE victim SET work_mem = '8MB'
< ERROR 42501 permission denied to alter role
<   detail: Only roles with the CREATEROLE attribute and the ADMIN option on role "victim" may alter this role.
> ALTER ROLE ALL SET work_mem = '8MB'
< ERROR 42501 permission denied to alter setting
<   detail: Only roles with the SUPERUSER attribute may alter settings globally.
> ALTER ROLE mallory IN DATABASE entry SET work_mem = '8MB'
< ALTER ROLE
> ALTER GROUP crew ADD USER mallory
< ERROR 42501 permission denied to alter role
<   detail: Only roles with the ADMIN option on role "crew" may add or drop members.
> ALTER DATABASE entry SET work_mem = '8MB'
< ERROR 42501 must be owner of database entry
> ALTER DATABASE entry OWNER TO mallory
< ERROR 42501 must be owner of database entry
> ALTER DATABASE entry RENAME TO x
< ERROR 42501 must be owner of database entry
> ALTER DATABASE postgres SET work_mem = '8MB'
< ERROR 42501 must be owner of database postgres
> ALTER SYSTEM SET work_mem = '8MB'
< ERROR 42501 permission denied to set parameter "work_mem"
> ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC
< ALTER DEFAULT PRIVILEGES
> ALTER DEFAULT PRIVILEGES FOR ROLE postgres GRANT SELECT ON TABLES TO mallory
< ERROR 42501 permission denied to change default privileges
> ALTER DEFAULT PRIVILEGES IN SCHEMA closed GRANT SELECT ON TABLES TO mallory
< ALTER DEFAULT PRIVILEGES
> ALTER EXTENSION plpgsql UPDATE
< ERROR 42501 must be owner of extension plpgsql
> ALTER LANGUAGE plpgsql RENAME TO x
< ERROR 42501 must be owner of language plpgsql
> ALTER TABLESPACE pg_default RENAME TO x
< ERROR 42501 permission denied for tablespace pg_default
> ALTER COLLATION "C" RENAME TO x
< ERROR 42501 must be owner of collation C
> ALTER AGGREGATE count(*) RENAME TO x
< ERROR 42501 must be owner of function count
> ALTER OPERATOR + (int, int) OWNER TO mallory
< ERROR 42501 must be owner of operator +
> ALTER TEXT SEARCH CONFIGURATION english RENAME TO x
< ERROR 42501 must be owner of text search configuration english
> GRANT SELECT ON secret TO mallory
< ERROR 42501 permission denied for table secret
> GRANT SELECT ON part TO victim
< WARNING 01007 no privileges were granted for "part"
< GRANT
> GRANT SELECT (id) ON part TO victim
< WARNING 01007 no privileges were granted for column "id" of relation "part"
< GRANT
> GRANT ALL ON SCHEMA closed TO mallory
< ERROR 42501 permission denied for schema closed
> GRANT EXECUTE ON FUNCTION secret_fn(int) TO mallory
< ERROR 42501 permission denied for function secret_fn
> GRANT USAGE ON TYPE secret_enum TO mallory
< ERROR 42501 permission denied for type secret_enum
> GRANT CONNECT ON DATABASE entry TO victim
< WARNING 01007 no privileges were granted for "entry"
< GRANT
> GRANT SELECT ON LARGE OBJECT 4711 TO mallory
< ERROR 42501 permission denied for large object large object 4711
> GRANT SELECT ON ALL TABLES IN SCHEMA public TO mallory
< WARNING 01007 no privileges were granted for "child"
< ERROR 42501 permission denied for table parent_1
> GRANT crew TO mallory
< ERROR 42501 permission denied to grant role "crew"
<   detail: Only roles with the ADMIN option on role "crew" may grant this role.
> GRANT postgres TO mallory
< ERROR 42501 permission denied to grant role "postgres"
<   detail: Only roles with the SUPERUSER attribute may grant roles with the SUPERUSER attribute.
> GRANT pg_read_all_data TO mallory
< ERROR 42501 permission denied to grant role "pg_read_all_data"
<   detail: Only roles with the ADMIN option on role "pg_read_all_data" may grant this role.
> GRANT mallory TO victim
< ERROR 42501 permission denied to grant role "mallory"
<   detail: Only roles with the ADMIN option on role "mallory" may grant this role.
> GRANT SET ON PARAMETER log_statement TO mallory
< ERROR 42501 permission denied for parameter log_statement
> REVOKE SELECT ON secret FROM postgres
< ERROR 42501 permission denied for table secret
> REVOKE mallory FROM victim
< ERROR 42501 permission denied to revoke role "mallory"
<   detail: Only roles with the ADMIN option on role "mallory" may revoke this role.
> REASSIGN OWNED BY postgres TO mallory
< ERROR 42501 permission denied to reassign objects
<   detail: Only roles with privileges of role "postgres" may reassign objects owned by it.
> REASSIGN OWNED BY mallory TO victim
< ERROR 42501 permission denied to reassign objects
<   detail: Only roles with privileges of role "victim" may reassign objects to it.
> DROP OWNED BY postgres
< ERROR 42501 permission denied to drop objects
<   detail: Only roles with privileges of role "postgres" may drop objects owned by it.
> DROP OWNED BY victim
< ERROR 42501 permission denied to drop objects
<   detail: Only roles with privileges of role "victim" may drop objects owned by it.
> DROP TABLE secret
< ERROR 42501 must be owner of table secret
> DROP TABLE IF EXISTS secret, nosuch
< ERROR 42501 must be owner of table secret
> DROP VIEW secret_view
< ERROR 42501 must be owner of view secret_view
> DROP MATERIALIZED VIEW secret_mat
< ERROR 42501 must be owner of materialized view secret_mat
> DROP INDEX secret_n
< ERROR 42501 must be owner of index secret_n
> DROP SEQUENCE secret_seq
< ERROR 42501 must be owner of sequence secret_seq
> DROP FUNCTION secret_fn(int)
< ERROR 42501 must be owner of function secret_fn
> DROP PROCEDURE secret_proc()
< ERROR 42501 must be owner of procedure secret_proc
> DROP TYPE secret_enum
< ERROR 42501 must be owner of type secret_enum
> DROP DOMAIN secret_domain
< ERROR 42501 must be owner of type secret_domain
> DROP SCHEMA closed
< ERROR 42501 must be owner of schema closed
> DROP SCHEMA closed CASCADE
< ERROR 42501 must be owner of schema closed
> DROP TRIGGER secret_trig ON secret
< ERROR 42501 must be owner of relation secret
> DROP RULE secret_rule ON secret_view
< ERROR 42501 must be owner of relation secret_view
> DROP POLICY own ON guarded
< ERROR 42501 must be owner of relation guarded
> DROP STATISTICS secret_stat
< ERROR 42501 must be owner of statistics object secret_stat
> DROP ROLE victim
< ERROR 42501 permission denied to drop role
<   detail: Only roles with the CREATEROLE attribute and the ADMIN option on the target roles may drop roles.
> DROP ROLE mallory
< ERROR 42501 permission denied to drop role
<   detail: Only roles with the CREATEROLE attribute and the ADMIN option on the target roles may drop roles.
> DROP DATABASE entry
< ERROR 42501 must be owner of database entry
> DROP DATABASE postgres
< ERROR 42501 must be owner of database postgres
> DROP EXTENSION plpgsql
< ERROR 42501 must be owner of extension plpgsql
> DROP LANGUAGE plpgsql
< ERROR 42501 must be owner of language plpgsql
> DROP AGGREGATE count(*)
< ERROR 42501 must be owner of aggregate count
> DROP CAST (int AS text)
< ERROR 42704 cast from type integer to type text does not exist
> DROP COLLATION "C"
< ERROR 42501 must be owner of collation C
> DROP ACCESS METHOD heap
< ERROR 42501 must be superuser
> DROP OPERATOR + (int, int)
< ERROR 42501 must be owner of operator +
> DROP TABLESPACE pg_default
< ERROR 42501 must be owner of tablespace pg_default
> SET ROLE postgres
< ERROR 42501 permission denied to set role "postgres"
> SET ROLE victim
< ERROR 42501 permission denied to set role "victim"
> SET ROLE crew
< ERROR 42501 permission denied to set role "crew"
> SET ROLE mallory
< SET
> SET SESSION AUTHORIZATION postgres
< ERROR 42501 permission denied to set session authorization "postgres"
> SET session_replication_role = replica
< ERROR 42501 permission denied to set parameter "session_replication_role"
> SET row_security = off
< SET
> SELECT * FROM guarded
< ERROR 42501 query would be affected by row-level security policy for table "guarded"
> RESET row_security
< RESET
> SET LOCAL lo_compat_privileges = on
< WARNING 25P01 SET LOCAL can only be used in transaction blocks
< ERROR 42501 permission denied to set parameter "lo_compat_privileges"
> SET search_path = closed
< SET
> SELECT * FROM t
< ERROR 42P01 relation "t" does not exist
> RESET search_path
< RESET
> LISTEN x
< LISTEN
> NOTIFY x
< NOTIFY
> UNLISTEN *
< UNLISTEN
> DISCARD ALL
< DISCARD ALL
== plans after SET ROLE
sql GRANT crew TO victim
sql GRANT SELECT ON secret TO crew
sql ALTER ROLE victim NOINHERIT
== a plan is of the role that uses it
login {"user": "victim"}
> PREPARE q AS SELECT count(*) FROM secret
< PREPARE
> SET ROLE crew
< SET
> PREPARE q AS SELECT count(*) FROM secret
< ERROR 42P05 prepared statement "q" already exists
> EXECUTE q
< |2|
< SELECT 1
> RESET ROLE
< RESET
> EXECUTE q
< |2|
< SELECT 1
> SELECT count(*) FROM secret
< |2|
< SELECT 1
> SET ROLE crew
< SET
> SELECT count(*) FROM secret
< |2|
< SELECT 1
> SELECT * FROM open_view
< ERROR 42501 permission denied for view open_view
> BEGIN; DECLARE c CURSOR FOR SELECT id FROM secret ORDER BY 1; RESET ROLE; FETCH c; COMMIT
< BEGIN
< DECLARE CURSOR
< RESET
< |1|
< FETCH 1
< COMMIT
> ROLLBACK
< WARNING 25P01 there is no transaction in progress
< ROLLBACK
> RESET ROLE
< RESET
> SELECT definer_who()
< |postgres victim pg_catalog|
< SELECT 1
> SET ROLE crew
< SET
> SELECT definer_who()
< |postgres victim pg_catalog|
< SELECT 1
== the rest of the grammar
login {"user": "mallory"}
> ALTER COLLATION "C" REFRESH VERSION
< ERROR 42501 must be owner of collation C
> ALTER DATABASE entry REFRESH COLLATION VERSION
< ERROR 42501 must be owner of database entry
> ALTER DATABASE entry CONNECTION LIMIT 5
< ERROR 42501 must be owner of database entry
> ALTER EVENT TRIGGER et DISABLE
< ERROR 42704 event trigger "et" does not exist
> ALTER EXTENSION plpgsql ADD TABLE secret
< ERROR 42501 must be owner of extension plpgsql
> ALTER FOREIGN DATA WRAPPER w NO VALIDATOR
< ERROR 42501 permission denied to alter foreign-data wrapper "w"
<   hint: Must be superuser to alter a foreign-data wrapper.
> ALTER SERVER s VERSION '2'
< ERROR 42704 server "s" does not exist
> ALTER FUNCTION secret_fn(int) DEPENDS ON EXTENSION plpgsql
< ERROR 42501 must be owner of function secret_fn
> ALTER OPERATOR FAMILY integer_ops USING btree ADD FUNCTION 1 (int, int) btint4cmp(int, int)
< ERROR 42501 must be superuser to alter an operator family
> ALTER OPERATOR + (int, int) SET (RESTRICT = NONE)
< ERROR 42501 must be owner of operator +
> ALTER PUBLICATION pub ADD TABLE secret
< ERROR 42704 publication "pub" does not exist
> ALTER SUBSCRIPTION sub DISABLE
< ERROR 42704 subscription "sub" does not exist
> ALTER TEXT SEARCH CONFIGURATION english DROP MAPPING FOR word
< ERROR 42501 must be owner of text search configuration english
> ALTER TEXT SEARCH DICTIONARY simple (stopwords = 'english')
< ERROR 42501 must be owner of text search dictionary simple
> ALTER TABLE ALL IN TABLESPACE pg_default SET TABLESPACE pg_default
< ALTER TABLE
> ALTER TABLESPACE pg_default SET (random_page_cost = 1)
< ERROR 42501 must be owner of tablespace pg_default
> ALTER OPERATOR = (int, int) SET (RESTRICT = eqsel)
< ERROR 42501 must be owner of operator =
> ALTER TYPE int4 SET (STORAGE = plain)
< ERROR 42501 must be owner of type integer
> ALTER USER MAPPING FOR mallory SERVER s OPTIONS (x 'y')
< ERROR 42704 server "s" does not exist
> ALTER STATISTICS secret_stat SET STATISTICS 10
< ERROR 42501 must be owner of statistics object secret_stat
> CLOSE ALL
< CLOSE CURSOR ALL
> SET CONSTRAINTS ALL DEFERRED
< WARNING 25P01 SET CONSTRAINTS can only be used in transaction blocks
< SET CONSTRAINTS
> CREATE OPERATOR CLASS mine.oc FOR TYPE int USING btree AS OPERATOR 1 <
< ERROR 42501 must be superuser to create an operator class
> CREATE OPERATOR FAMILY mine.opf USING btree
< ERROR 42501 must be superuser to create an operator family
> CREATE TYPE mine.rng AS RANGE (SUBTYPE = secret_domain)
< ERROR 42501 permission denied for type secret_domain
> CREATE TYPE mine.comp AS (a int)
< CREATE TYPE
> CREATE TYPE mine.en AS ENUM ('a')
< CREATE TYPE
> DEALLOCATE ALL
< DEALLOCATE ALL
> DROP SUBSCRIPTION sub
< ERROR 42704 subscription "sub" does not exist
> DROP USER MAPPING FOR mallory SERVER s
< ERROR 42704 server "s" does not exist
> ALTER SEQUENCE secret_seq AS bigint
< ERROR 42501 must be owner of sequence secret_seq
> ALTER MATERIALIZED VIEW secret_mat SET SCHEMA mine
< ERROR 42501 must be owner of materialized view secret_mat
> FETCH c
< ERROR 34000 cursor "c" does not exist
> SHOW work_mem
< |8MB|
< SHOW
> CREATE ROLE x ROLE mallory
< ERROR 42501 permission denied to create role
<   detail: Only roles with the CREATEROLE attribute may create roles.
> DROP OPERATOR CLASS int4_ops USING btree
< ERROR 42501 must be owner of operator class btree.int4_ops
== names in a schema that may not be looked into
login {"user": "mallory"}
> SELECT * FROM closed.t
< ERROR 42501 permission denied for schema closed
> SELECT * FROM closed.nosuch
< ERROR 42501 permission denied for schema closed
> INSERT INTO closed.nosuch VALUES (1)
< ERROR 42501 permission denied for schema closed
> UPDATE closed.nosuch SET a = 1
< ERROR 42501 permission denied for schema closed
> DELETE FROM closed.nosuch
< ERROR 42501 permission denied for schema closed
> TRUNCATE closed.t
< ERROR 42501 permission denied for schema closed
> TRUNCATE closed.nosuch
< ERROR 42501 permission denied for schema closed
> COPY closed.t TO STDOUT
< ERROR 42501 permission denied for schema closed
> COPY closed.nosuch TO STDOUT
< ERROR 42501 permission denied for schema closed
> BEGIN; LOCK TABLE closed.nosuch
< BEGIN
< ERROR 42501 permission denied for schema closed
> ROLLBACK
< ROLLBACK
> DROP TABLE closed.t
< ERROR 42501 permission denied for schema closed
> DROP TABLE closed.nosuch
< ERROR 42501 permission denied for schema closed
> ALTER TABLE closed.t ADD COLUMN b int
< ERROR 42501 permission denied for schema closed
> ALTER TABLE closed.nosuch ADD COLUMN b int
< ERROR 42501 permission denied for schema closed
> COMMENT ON TABLE closed.t IS 'x'
< ERROR 42501 permission denied for schema closed
> COMMENT ON TABLE closed.nosuch IS 'x'
< ERROR 42501 permission denied for schema closed
> GRANT SELECT ON closed.t TO mallory
< ERROR 42501 permission denied for schema closed
> GRANT SELECT ON closed.nosuch TO mallory
< ERROR 42501 permission denied for schema closed
> CREATE INDEX ON closed.t (a)
< ERROR 42501 permission denied for schema closed
> CREATE INDEX ON closed.nosuch (a)
< ERROR 42501 permission denied for schema closed
> CREATE TABLE mine.x (LIKE closed.t)
< ERROR 42501 permission denied for schema closed
> CREATE TABLE mine.x (LIKE closed.nosuch)
< ERROR 42501 permission denied for schema closed
> CREATE TABLE mine.x () INHERITS (closed.t)
< ERROR 42501 permission denied for schema closed
> CREATE TABLE mine.x (a int REFERENCES closed.t)
< ERROR 42501 permission denied for schema closed
> CREATE TABLE mine.x (a closed.t)
< ERROR 42501 permission denied for schema closed
> CREATE TABLE mine.x (a closed.nosuch)
< ERROR 42501 permission denied for schema closed
> CREATE VIEW mine.x AS SELECT * FROM closed.t
< ERROR 42501 permission denied for schema closed
> VACUUM closed.t
< ERROR 42501 permission denied for schema closed
> VACUUM closed.nosuch
< ERROR 42501 permission denied for schema closed
> ANALYZE closed.nosuch
< ERROR 42501 permission denied for schema closed
> REINDEX TABLE closed.t
< ERROR 42501 permission denied for schema closed
> REINDEX TABLE closed.nosuch
< ERROR 42501 permission denied for schema closed
> SELECT nextval('closed.nosuch')
< ERROR 42501 permission denied for schema closed
> SELECT 'closed.nosuch'::regclass
< ERROR 42501 permission denied for schema closed
> SELECT 'closed.nosuch'::regtype
< ERROR 42501 permission denied for schema closed
> SELECT 'closed.f'::regproc
< ERROR 42501 permission denied for schema closed
> SELECT to_regclass('closed.nosuch')
< ERROR 42501 permission denied for schema closed
> SELECT has_table_privilege('closed.t', 'SELECT')
< ERROR 42501 permission denied for schema closed
> SELECT has_table_privilege('closed.nosuch', 'SELECT')
< ERROR 42501 permission denied for schema closed
> SELECT has_schema_privilege('closed', 'USAGE')
< |f|
< SELECT 1
> DROP FUNCTION closed.f()
< ERROR 42501 permission denied for schema closed
> DROP TYPE closed.ty
< ERROR 42501 permission denied for schema closed
> DROP SEQUENCE closed.s
< ERROR 42501 permission denied for schema closed
> DROP VIEW IF EXISTS closed.nosuch
< ERROR 42501 permission denied for schema closed
> EXPLAIN SELECT * FROM closed.nosuch
< ERROR 42501 permission denied for schema closed
> PREPARE cc AS SELECT * FROM closed.nosuch
< ERROR 42501 permission denied for schema closed
> DECLARE cc CURSOR WITH HOLD FOR SELECT * FROM closed.nosuch
< ERROR 42501 permission denied for schema closed
> DO $$ BEGIN PERFORM * FROM closed.nosuch; END $$
< ERROR 42501 permission denied for schema closed
> MERGE INTO closed.nosuch USING (SELECT 1 AS a) s ON true WHEN MATCHED THEN DELETE
< ERROR 42501 permission denied for schema closed
== errors of several kinds
sql CREATE TABLE far (id int PRIMARY KEY, pin text)
sql INSERT INTO far VALUES (1, 'one')
sql CREATE TABLE near (id int PRIMARY KEY REFERENCES far DEFERRABLE, pin text UNIQUE DEFERRABLE, EXCLUDE USING btree (pin WITH =))
sql INSERT INTO near VALUES (1, 'hidden')
sql GRANT INSERT, UPDATE, DELETE ON near, far TO mallory
sql GRANT SELECT (id) ON far TO mallory
sql CREATE TABLE ranged (id int, pin text) PARTITION BY RANGE (id)
sql CREATE TABLE ranged_1 PARTITION OF ranged FOR VALUES FROM (0) TO (10)
sql INSERT INTO ranged VALUES (1, 'hidden')
sql GRANT INSERT, UPDATE (id) ON ranged TO mallory
login {"user": "mallory"}
> INSERT INTO near VALUES (1, 'other')
< ERROR 23505 duplicate key value violates unique constraint "near_pkey"
> INSERT INTO near VALUES (9, 'other')
< ERROR 23503 insert or update on table "near" violates foreign key constraint "near_id_fkey"
<   detail: Key is not present in table "far".
> INSERT INTO near VALUES (2, 'hidden')
< ERROR 23P01 conflicting key value violates exclusion constraint "near_pin_excl"
<   detail: Key conflicts with existing key.
> BEGIN; SET CONSTRAINTS ALL DEFERRED; INSERT INTO near VALUES (9, 'new'); COMMIT
< BEGIN
< SET CONSTRAINTS
< INSERT 0 1
< ERROR 23503 insert or update on table "near" violates foreign key constraint "near_id_fkey"
<   detail: Key is not present in table "far".
> UPDATE near SET pin = 'x'
< UPDATE 1
> UPDATE near SET id = 5
< ERROR 23503 insert or update on table "near" violates foreign key constraint "near_id_fkey"
<   detail: Key is not present in table "far".
> DELETE FROM far
< ERROR 23503 update or delete on table "far" violates foreign key constraint "near_id_fkey" on table "near"
<   detail: Key (id)=(1) is still referenced from table "near".
> UPDATE far SET id = 7
< ERROR 23503 update or delete on table "far" violates foreign key constraint "near_id_fkey" on table "near"
<   detail: Key (id)=(1) is still referenced from table "near".
> INSERT INTO ranged VALUES (11, 'out')
< ERROR 23514 no partition of relation "ranged" found for row
> UPDATE ranged SET id = 11
< ERROR 23514 no partition of relation "ranged" found for row
> DO $$ DECLARE d text; BEGIN INSERT INTO near VALUES (1, 'other'); EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL; RAISE NOTICE '[%]', d; END $$
< NOTICE 00000 []
< DO
> INSERT INTO near VALUES (1, 'other') ON CONFLICT (id) DO NOTHING
< ERROR 42501 permission denied for table near
> WITH x AS (INSERT INTO near VALUES (1, 'other') RETURNING 1) SELECT 1
< ERROR 23505 duplicate key value violates unique constraint "near_pkey"
