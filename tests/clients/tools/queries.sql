--- pgAdmin: settings of a new connection
SET DateStyle=ISO; SET client_min_messages=notice; SELECT set_config('bytea_output', 'hex', false) FROM pg_settings WHERE name = 'bytea_output'; SET client_encoding='UTF8';
--- pgAdmin: the database that it is connected to
SELECT db.datallowconn, pg_encoding_to_char(db.encoding) AS serverencoding, has_database_privilege(db.oid, 'CREATE') AS cancreate, datistemplate FROM pg_catalog.pg_database db WHERE db.datname = current_database()
--- pgAdmin: is the connection secured by GSSAPI
SELECT gss_authenticated, encrypted FROM pg_catalog.pg_stat_gssapi WHERE pid = pg_backend_pid()
--- pgAdmin: who am I and what may I do
SELECT roles.oid AS id, roles.rolname AS name, roles.rolsuper AS is_superuser,
  CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreaterole END AS can_create_role,
  CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreatedb END AS can_create_db,
  CASE WHEN 'pg_signal_backend' = ANY(ARRAY(WITH RECURSIVE up AS (
    SELECT r.oid, r.rolname FROM pg_roles r WHERE r.oid = roles.oid
    UNION ALL SELECT m.roleid, g.rolname FROM up JOIN pg_auth_members m ON m.member = up.oid JOIN pg_roles g ON g.oid = m.roleid)
    SELECT rolname FROM up)) THEN true ELSE false END AS can_signal_backend
FROM pg_catalog.pg_roles AS roles WHERE rolname = current_user
--- pgAdmin: databases of the tree
SELECT db.datname IN (current_database()) AS mine, ta.spcname, db.datallowconn, db.datistemplate AS is_template,
  pg_catalog.has_database_privilege(db.oid, 'CREATE') AS cancreate, datdba AS owner, descr.description
FROM pg_catalog.pg_database db LEFT OUTER JOIN pg_catalog.pg_tablespace ta ON db.dattablespace = ta.oid
LEFT OUTER JOIN pg_catalog.pg_shdescription descr ON (db.oid = descr.objoid AND descr.classoid = 'pg_database'::regclass)
WHERE db.datname = current_database() ORDER BY datname
--- pgAdmin: properties of the database [15]
SELECT spcname, datallowconn, pg_catalog.pg_encoding_to_char(encoding) AS encoding, pg_catalog.pg_get_userbyid(datdba) AS datowner,
  (SELECT pg_catalog.current_setting('lc_collate')) AS datcollate, CASE WHEN datlocprovider = 'i' THEN 'icu' ELSE 'libc' END datlocaleprovider,
  daticulocale, datconnlimit, pg_catalog.current_setting('default_tablespace') AS default_tablespace, db.datistemplate AS is_template,
  CASE WHEN db.datname = pg_catalog.current_database() THEN (SELECT pg_catalog.string_agg(pg_catalog.array_to_string(defaclacl::text[], ', '), ', ' ORDER BY defaclrole)
    FROM pg_catalog.pg_default_acl WHERE defaclnamespace = 0::oid AND defaclobjtype = 'r') END AS tblacl,
  pg_catalog.array_to_string(datacl::text[], ', ') AS acl
FROM pg_catalog.pg_database db LEFT OUTER JOIN pg_catalog.pg_tablespace ta ON db.dattablespace = ta.oid WHERE db.datname = current_database()
--- pgAdmin: schemas of the tree
SELECT nsp.oid, nsp.nspname AS name, pg_catalog.has_schema_privilege(nsp.oid, 'CREATE') AS can_create, pg_catalog.has_schema_privilege(nsp.oid, 'USAGE') AS has_usage, des.description
FROM pg_catalog.pg_namespace nsp LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid = nsp.oid AND des.classoid = 'pg_namespace'::regclass)
WHERE nspname NOT LIKE E'pg\\_%' AND NOT ((nsp.nspname = 'pg_catalog' AND EXISTS (SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'pg_class' AND relnamespace = nsp.oid LIMIT 1))
  OR (nsp.nspname = 'information_schema' AND EXISTS (SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'tables' AND relnamespace = nsp.oid LIMIT 1)))
ORDER BY nspname
--- pgAdmin: tables of the tree
SELECT rel.oid, rel.relname AS name, (SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgrelid = rel.oid AND tgisinternal = FALSE) AS triggercount,
  (SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgrelid = rel.oid AND tgisinternal = FALSE AND tgenabled = 'O') AS has_enable_triggers,
  (CASE WHEN rel.relkind = 'p' THEN true ELSE false END) AS is_partitioned,
  (SELECT count(1) FROM pg_catalog.pg_inherits WHERE inhrelid = rel.oid LIMIT 1) AS is_inherits, des.description
FROM pg_catalog.pg_class rel LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid = rel.oid AND des.objsubid = 0 AND des.classoid = 'pg_class'::regclass)
WHERE rel.relkind IN ('r', 's', 't', 'p') AND rel.relnamespace = :shop AND NOT rel.relispartition ORDER BY rel.relname
--- pgAdmin: properties of a table
SELECT rel.oid, rel.relname AS name, rel.reltablespace AS spcoid, rel.relacl AS relacl_str,
  (CASE WHEN length(spc.spcname::text) > 0 OR rel.relkind = 'p' THEN spc.spcname ELSE
    (SELECT sp.spcname FROM pg_catalog.pg_database dtb JOIN pg_catalog.pg_tablespace sp ON dtb.dattablespace = sp.oid WHERE dtb.datname = current_database()) END) AS spcname,
  (CASE rel.relreplident WHEN 'd' THEN 'default' WHEN 'n' THEN 'nothing' WHEN 'f' THEN 'full' WHEN 'i' THEN 'index' END) AS replica_identity,
  pg_catalog.pg_get_userbyid(rel.relowner) AS relowner, rel.relkind, rel.relhassubclass, des.description, con.conname, con.conkey,
  EXISTS(SELECT 1 FROM pg_catalog.pg_trigger JOIN pg_catalog.pg_proc pt ON pt.oid = tgfoid AND pt.proname = 'logtrigger' WHERE tgrelid = rel.oid) AS isrepl,
  (SELECT ARRAY(SELECT CASE WHEN (nspname NOT LIKE 'pg\_%') THEN pg_catalog.quote_ident(nspname) || '.' || pg_catalog.quote_ident(c.relname) ELSE pg_catalog.quote_ident(c.relname) END
    FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhparent JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE i.inhrelid = rel.oid ORDER BY inhseqno)) AS coll_inherits,
  (CASE WHEN rel.relpersistence = 'u' THEN true ELSE false END) AS relpersistence,
  substring(pg_catalog.array_to_string(rel.reloptions, ',') FROM 'fillfactor=([0-9]*)') AS fillfactor,
  (substring(pg_catalog.array_to_string(rel.reloptions, ',') FROM 'autovacuum_enabled=([a-z|0-9]*)'))::BOOL AS autovacuum_enabled,
  rel.reloptions AS reloptions, rel.reloftype, rel.relrowsecurity AS rlspolicy, rel.relforcerowsecurity AS forcerlspolicy,
  (SELECT pg_catalog.array_agg(provider || '=' || label) FROM pg_catalog.pg_seclabels sl1 WHERE sl1.objoid = rel.oid AND sl1.objsubid = 0) AS seclabels
FROM pg_catalog.pg_class rel LEFT OUTER JOIN pg_catalog.pg_tablespace spc ON spc.oid = rel.reltablespace
LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid = rel.oid AND des.objsubid = 0 AND des.classoid = 'pg_class'::regclass)
LEFT OUTER JOIN pg_catalog.pg_constraint con ON con.conrelid = rel.oid AND con.contype = 'p'
WHERE rel.relkind IN ('r', 's', 't', 'p') AND rel.relnamespace = :shop AND NOT rel.relispartition ORDER BY rel.relname
--- pgAdmin: columns of a table
SELECT att.attname AS name, att.attnum, att.atttypid, att.attlen, att.attndims, att.atttypmod, att.attnotnull, att.atthasdef, att.attidentity, att.attgenerated, att.attcollation, att.attacl, att.attoptions,
  pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS defval, CASE WHEN att.attndims > 0 THEN 1 ELSE 0 END AS isarray,
  pg_catalog.format_type(ty.oid, NULL) AS typname, pg_catalog.format_type(ty.oid, att.atttypmod) AS displaytypname,
  CASE WHEN ty.typelem > 0 THEN ty.typelem ELSE ty.oid END AS elemoid, tn.nspname AS typnspname, ty.typstorage AS defaultstorage,
  concat(pg_catalog.quote_ident(na.nspname), '.', pg_catalog.quote_ident(cl.relname)) AS parent_tbl, COALESCE(att.attstattarget, -1) AS attstattarget, description, cs.relname AS sername, ns.nspname AS serschema,
  (SELECT count(1) FROM pg_catalog.pg_type t2 WHERE t2.typname = ty.typname) > 1 AS isdup, indkey, coll.collname, nspc.nspname AS collnspname,
  EXISTS(SELECT 1 FROM pg_catalog.pg_constraint WHERE conrelid = att.attrelid AND contype = 'f' AND att.attnum = ANY(conkey)) AS is_fk,
  (SELECT pg_catalog.array_agg(provider || '=' || label) FROM pg_catalog.pg_seclabels sl1 WHERE sl1.objoid = att.attrelid AND sl1.objsubid = att.attnum) AS seclabels,
  (CASE WHEN (att.attidentity in ('a', 'd')) THEN 'i' WHEN (att.attgenerated in ('s')) THEN 'g' ELSE 'n' END) AS colconstype, seq.*
FROM pg_catalog.pg_attribute att JOIN pg_catalog.pg_type ty ON ty.oid = atttypid JOIN pg_catalog.pg_namespace tn ON tn.oid = ty.typnamespace
JOIN pg_catalog.pg_class cl ON cl.oid = att.attrelid JOIN pg_catalog.pg_namespace na ON na.oid = cl.relnamespace
LEFT OUTER JOIN pg_catalog.pg_attrdef def ON adrelid = att.attrelid AND adnum = att.attnum
LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid = att.attrelid AND des.objsubid = att.attnum AND des.classoid = 'pg_class'::regclass)
LEFT OUTER JOIN (pg_catalog.pg_depend dep JOIN pg_catalog.pg_class cs ON dep.classid = 'pg_class'::regclass AND dep.objid = cs.oid AND cs.relkind = 'S') ON dep.refobjid = att.attrelid AND dep.refobjsubid = att.attnum
LEFT OUTER JOIN pg_catalog.pg_namespace ns ON ns.oid = cs.relnamespace LEFT OUTER JOIN pg_catalog.pg_index pi ON pi.indrelid = att.attrelid AND indisprimary
LEFT OUTER JOIN pg_catalog.pg_collation coll ON att.attcollation = coll.oid LEFT OUTER JOIN pg_catalog.pg_namespace nspc ON coll.collnamespace = nspc.oid
LEFT OUTER JOIN pg_catalog.pg_sequence seq ON cs.oid = seq.seqrelid
WHERE att.attrelid = :item AND att.attnum > 0 AND att.attisdropped IS FALSE ORDER BY att.attnum
--- pgAdmin: foreign keys of a table
SELECT ct.oid, conname AS name, condeferrable, condeferred, confupdtype, confdeltype, CASE confmatchtype WHEN 's' THEN false WHEN 'f' THEN true END AS confmatchtype,
  conkey, confkey, confrelid, fl.relname AS fktab, fn.nspname AS refnsp, cl.relname AS reftab, description AS comment, convalidated
FROM pg_catalog.pg_constraint ct JOIN pg_catalog.pg_class cl ON cl.oid = confrelid JOIN pg_catalog.pg_namespace fn ON fn.oid = cl.relnamespace
JOIN pg_catalog.pg_class fl ON fl.oid = conrelid LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid = ct.oid AND des.classoid = 'pg_constraint'::regclass)
WHERE contype = 'f' AND fl.relnamespace = :shop ORDER BY conname
--- pgAdmin: indexes of a table
SELECT DISTINCT ON (cls.relname) cls.oid, cls.relname AS name, indrelid, indkey, indisclustered, indisvalid, indisunique, indisprimary, n.nspname, indnatts, cls.reltablespace AS spcoid,
  tab.relname AS tabname, indclass, con.oid AS conoid, CASE WHEN contype IN ('p', 'u', 'x') THEN desp.description ELSE des.description END AS description,
  pg_catalog.pg_get_expr(indpred, indrelid, true) AS indconstraint, contype, condeferrable, condeferred, amname, indnkeyatts,
  substring(pg_catalog.array_to_string(cls.reloptions, ',') from 'fillfactor=([0-9]*)') AS fillfactor
FROM pg_catalog.pg_index idx JOIN pg_catalog.pg_class cls ON cls.oid = indexrelid JOIN pg_catalog.pg_class tab ON tab.oid = indrelid
JOIN pg_catalog.pg_namespace n ON n.oid = tab.relnamespace JOIN pg_catalog.pg_am am ON am.oid = cls.relam
LEFT JOIN pg_catalog.pg_depend dep ON (dep.classid = cls.tableoid AND dep.objid = cls.oid AND dep.refobjsubid = '0' AND dep.refclassid = (SELECT oid FROM pg_catalog.pg_class WHERE relname = 'pg_constraint') AND dep.deptype = 'i')
LEFT OUTER JOIN pg_catalog.pg_constraint con ON (con.tableoid = dep.refclassid AND con.oid = dep.refobjid)
LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid = cls.oid AND des.classoid = 'pg_class'::regclass)
LEFT OUTER JOIN pg_catalog.pg_description desp ON (desp.objoid = con.oid AND desp.objsubid = 0 AND desp.classoid = 'pg_constraint'::regclass)
WHERE indrelid = :item ORDER BY cls.relname
--- pgAdmin: columns of an index
SELECT i.indnkeyatts, CASE WHEN (o.opcdefault = FALSE) THEN o.opcname ELSE null END AS opcname, op.oprname AS oprname, CASE WHEN length(nspc.nspname::text) > 0 THEN nspc.nspname END AS collns,
  pg_catalog.pg_get_indexdef(i.indexrelid, ii.attnum, true) AS attdef, CASE pg_catalog.pg_index_column_has_property(i.indexrelid, ii.attnum, 'desc') WHEN true THEN 'DESC' ELSE 'ASC' END AS options,
  CASE WHEN pg_catalog.pg_index_column_has_property(i.indexrelid, ii.attnum, 'nulls_first') THEN 'FIRST' ELSE 'LAST' END AS nulls
FROM (SELECT indexrelid, pg_catalog.generate_series(1, indnkeyatts)::int AS attnum FROM pg_catalog.pg_index WHERE indrelid = :item) ii
JOIN pg_catalog.pg_index i ON i.indexrelid = ii.indexrelid JOIN pg_catalog.pg_attribute a ON (a.attrelid = i.indexrelid AND a.attnum = ii.attnum)
LEFT JOIN pg_catalog.pg_opclass o ON (o.oid = i.indclass[ii.attnum - 1]) LEFT OUTER JOIN pg_catalog.pg_constraint c ON (c.conindid = i.indexrelid)
LEFT OUTER JOIN pg_catalog.pg_operator op ON (op.oid = c.conexclop[ii.attnum]) LEFT JOIN pg_catalog.pg_collation coll ON a.attcollation = coll.oid
LEFT JOIN pg_catalog.pg_namespace nspc ON coll.collnamespace = nspc.oid ORDER BY i.indexrelid, ii.attnum
--- pgAdmin: views, functions, sequences and types of a schema
SELECT c.relname, c.relkind, c.reltablespace, spcname, c.relispopulated, pg_catalog.pg_get_userbyid(c.relowner) AS owner, description, pg_catalog.pg_get_viewdef(c.oid, true) AS definition
FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_tablespace spc ON spc.oid = c.reltablespace LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid = c.oid AND des.objsubid = 0 AND des.classoid = 'pg_class'::regclass)
WHERE c.relkind IN ('v', 'm') AND c.relnamespace = :shop ORDER BY relname;
SELECT pr.proname, pr.proname || '(' || COALESCE(pg_catalog.pg_get_function_identity_arguments(pr.oid), '') || ')' AS name, lanname, pg_catalog.pg_get_userbyid(proowner) AS funcowner, description, prokind, proretset, provolatile, proisstrict, procost, prorows, pg_catalog.pg_get_function_result(pr.oid) AS result
FROM pg_catalog.pg_proc pr JOIN pg_catalog.pg_type typ ON typ.oid = prorettype JOIN pg_catalog.pg_language lng ON lng.oid = prolang LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid = pr.oid AND des.classoid = 'pg_proc'::regclass)
WHERE pr.prokind IN ('f', 'w') AND pronamespace = :shop AND typname NOT IN ('trigger', 'event_trigger') ORDER BY proname;
SELECT cl.oid, relname AS name, pg_catalog.pg_get_userbyid(relowner) AS seqowner, seqtypid, seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle, (SELECT deptype FROM pg_catalog.pg_depend WHERE objid = cl.oid AND deptype IN ('a', 'i') AND refobjsubid > 0) AS owned
FROM pg_catalog.pg_class cl JOIN pg_catalog.pg_sequence ON seqrelid = cl.oid WHERE relkind = 'S' AND relnamespace = :shop ORDER BY relname;
SELECT t.oid, t.typname AS name, t.typtype, pg_catalog.format_type(t.oid, null) AS alias, pg_catalog.pg_get_userbyid(t.typowner) AS typeowner, e.typname AS element, ct.oid AS taboid FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type e ON e.oid = t.typelem
LEFT OUTER JOIN pg_catalog.pg_class ct ON ct.oid = t.typrelid AND ct.relkind <> 'c' WHERE t.typtype != 'd' AND t.typname NOT LIKE E'\\_%' AND t.typnamespace = :shop AND ct.oid IS NULL ORDER BY t.typname
--- pgAdmin: charts of the dashboard
SELECT 'session_stats' AS chart_name, pg_catalog.jsonb_object_keys(pg_catalog.row_to_json(t)::jsonb) AS chart_keys FROM (SELECT (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE datname = current_database()) AS "Total",
  (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE state = 'active' AND datname = current_database()) AS "Active") t
UNION ALL SELECT 'tps_stats', pg_catalog.jsonb_object_keys(pg_catalog.row_to_json(t)::jsonb) FROM (SELECT (SELECT sum(xact_commit) + sum(xact_rollback) FROM pg_catalog.pg_stat_database WHERE datname = current_database()) AS "Transactions",
  (SELECT sum(tup_inserted) FROM pg_catalog.pg_stat_database) AS "Inserts", (SELECT sum(blks_hit) FROM pg_catalog.pg_stat_database) AS "Hits") t
--- pgAdmin: sessions of the dashboard
SELECT datname = current_database() AS mine, usename, application_name, client_hostname, state, wait_event_type, pg_catalog.pg_blocking_pids(pid) AS blocking_pids, backend_type, client_addr IS NULL AS local
FROM pg_catalog.pg_stat_activity WHERE pid = pg_backend_pid()
--- DBeaver: what it asks on connecting
SELECT current_schema(), session_user; SHOW search_path; SHOW standard_conforming_strings; SELECT * FROM pg_catalog.pg_enum WHERE 1 <> 1 LIMIT 1; SELECT reltype FROM pg_catalog.pg_class WHERE 1 <> 1 LIMIT 1
--- DBeaver: databases, encodings, access methods, languages, tablespaces, extensions
SELECT db.datname = current_database() AS mine, db.datdba, db.encoding, db.datistemplate, db.datallowconn, db.datconnlimit, db.dattablespace, db.datacl FROM pg_catalog.pg_database db WHERE NOT datistemplate AND datallowconn AND db.datname = current_database() ORDER BY db.datname;
SELECT c.contid, pg_catalog.pg_encoding_to_char(c.contid) AS encname FROM pg_catalog.generate_series(0, 9) AS c(contid);
SELECT am.oid, am.* FROM pg_catalog.pg_am am ORDER BY am.oid;
SELECT l.oid, l.lanname, l.lanispl, l.lanpltrusted FROM pg_catalog.pg_language l ORDER BY l.oid;
SELECT t.oid, t.spcname, pg_catalog.pg_tablespace_location(t.oid) loc FROM pg_catalog.pg_tablespace t ORDER BY t.oid;
SELECT e.extname, n.nspname AS schema_name FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'plpgsql' ORDER BY e.oid
--- DBeaver: schemas with comments
SELECT n.oid, n.nspname, n.nspowner, n.nspacl, d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass WHERE n.nspname IN ('public', 'shop') ORDER BY nspname
--- DBeaver: data types of the database [15]
SELECT t.oid, t.typname, t.typlen, t.typbyval, t.typtype, t.typcategory, t.typispreferred, t.typdelim, t.typrelid, t.typelem, t.typarray, t.typalign, t.typstorage, t.typnotnull, t.typbasetype, t.typtypmod, t.typndims, t.typcollation, t.typdefault, c.relkind, pg_catalog.format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base_type_name, d.description
FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid = t.typelem LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid = d.objoid
WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C') AND (t.typnamespace = :shop OR t.typname IN ('int4', 'text', 'numeric', '_text', 'jsonb')) ORDER BY t.typname COLLATE "C"
--- DBeaver: tables and views of a schema
SELECT c.oid, c.relname, c.relkind, c.relowner, c.reltablespace, c.relhasindex, c.relpersistence, c.relnatts, c.relchecks, c.relhasrules, c.relhastriggers, c.relispopulated, c.relispartition, c.reloptions, c.relacl, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr, pg_catalog.pg_get_partkeydef(c.oid) AS partition_key
FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass WHERE c.relnamespace = :shop AND c.relkind NOT IN ('i', 'I', 'c') ORDER BY c.relname
--- DBeaver: columns of all tables of a schema
SELECT c.relname, a.attname, a.atttypid, a.attnum, a.attnotnull, a.attidentity, a.attgenerated, a.attisdropped, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dsc.description, dep.objid
FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid) LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum)
LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid)
LEFT OUTER JOIN pg_catalog.pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = a.attnum AND dep.classid = dep.refclassid
WHERE NOT a.attisdropped AND a.attnum > 0 AND c.relkind NOT IN ('i', 'I', 'c') AND c.relnamespace = :shop ORDER BY c.relname, a.attnum
--- DBeaver: constraints of a schema
SELECT c.oid, c.conname, c.contype, c.condeferrable, c.condeferred, c.convalidated, c.conrelid, c.conindid, c.confrelid, c.confupdtype, c.confdeltype, c.confmatchtype, c.conislocal, c.conkey, c.confkey, t.relname AS tabrelname, rt.relnamespace AS refnamespace, d.description,
  CASE WHEN c.contype = 'c' THEN "substring"(pg_get_constraintdef(c.oid), 7) ELSE NULL END consrc_copy
FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_constraint'::regclass
WHERE t.relnamespace = :shop ORDER BY c.conname
--- DBeaver: indexes of a schema
SELECT i.indnatts, i.indnkeyatts, i.indisunique, i.indisprimary, i.indisvalid, i.indisready, i.indislive, i.indoption, i.indkey AS keys, c.relname, c.relam, tc.relname AS tabrelname, dsc.description, pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS pred_expr, pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) AS expr
FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid INNER JOIN pg_catalog.pg_class tc ON tc.oid = i.indrelid LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid = dsc.objoid WHERE c.relnamespace = :shop ORDER BY tabrelname, c.relname
--- DBeaver: sequences, procedures, triggers, rules, dependencies, sizes
SELECT x.seqrelid IS NOT NULL AS known, x.seqstart, x.seqmax, c.relname, d.description FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_sequence x ON x.seqrelid = c.oid LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 WHERE c.relkind = 'S' AND c.relnamespace = :shop ORDER BY c.relname;
SELECT p.proname, p.prolang, p.prokind, p.proargtypes, p.proallargtypes, p.proargmodes, p.proargnames, p.prosrc, p.proacl, pg_catalog.pg_get_expr(p.proargdefaults, 0) AS arg_defaults, d.description FROM pg_catalog.pg_proc p LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = p.oid WHERE p.pronamespace = :shop ORDER BY p.proname;
SELECT x.tgname, p.pronamespace AS func_schema_id FROM pg_catalog.pg_trigger x LEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid = x.tgfoid WHERE x.tgrelid = :item AND NOT x.tgisinternal;
SELECT r.rulename, r.ev_type, r.is_instead, pg_catalog.pg_get_ruledef(r.oid) IS NOT NULL AS has_definition FROM pg_catalog.pg_rewrite r WHERE r.ev_class = :cheap;
SELECT pg_catalog.pg_total_relation_size(:item) >= 0 AS total, pg_catalog.pg_relation_size(:item) >= 0 AS own
--- DataGrip: settings, version, time of start
SET extra_float_digits = 3; SET application_name = 'DataGrip'; SHOW TRANSACTION ISOLATION LEVEL; SELECT current_schemas(false) AS b;
SELECT round(extract(epoch FROM pg_postmaster_start_time() AT TIME ZONE 'UTC')) > 0 AS startup_time
--- DataGrip: the oldest transaction
SELECT L.transactionid::varchar::bigint AS transaction_id FROM pg_catalog.pg_locks L WHERE L.transactionid IS NOT NULL ORDER BY pg_catalog.age(L.transactionid) DESC LIMIT 1
--- DataGrip: the current transaction
SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN null ELSE (pg_catalog.txid_current() % 4294967296)::varchar::bigint END > 0 AS current_txid
--- DataGrip: databases and schemas
SELECT datname = current_database() AS mine, D.description, datistemplate AS is_template, datallowconn AS allow_connections, pg_catalog.pg_get_userbyid(N.datdba) AS "owner" FROM pg_catalog.pg_database N LEFT JOIN pg_catalog.pg_shdescription D ON N.oid = D.objoid
WHERE datname = current_database() ORDER BY CASE WHEN datname = pg_catalog.current_database() THEN -1::bigint ELSE N.oid::bigint END;
SELECT N.oid::bigint AS id, N.xmin AS state_number, nspname AS name, D.description, pg_catalog.pg_get_userbyid(N.nspowner) AS "owner" FROM pg_catalog.pg_namespace N LEFT JOIN pg_catalog.pg_description D ON N.oid = D.objoid
WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY CASE WHEN nspname = pg_catalog.current_schema() THEN -1::bigint ELSE N.oid::bigint END
--- DataGrip: time zones, roles, memberships, tablespaces
SELECT name FROM (SELECT name, is_dst FROM pg_catalog.pg_timezone_names UNION DISTINCT SELECT abbrev AS name, is_dst FROM pg_catalog.pg_timezone_abbrevs) z WHERE name IN ('Europe/Berlin', 'UTC', 'CET') ORDER BY name;
SELECT R.oid::bigint AS role_id, rolname AS role_name, rolsuper is_super, rolinherit is_inherit, rolcreaterole can_createrole, rolcreatedb can_createdb, rolcanlogin can_login, rolreplication is_replication, rolconnlimit conn_limit, rolvaliduntil valid_until, rolbypassrls bypass_rls, rolconfig config, D.description
FROM pg_catalog.pg_roles R LEFT JOIN pg_catalog.pg_shdescription D ON D.objoid = R.oid WHERE rolname = 'postgres' OR rolname ~ '^pg_' ORDER BY R.oid;
SELECT member id, roleid role_id, admin_option FROM pg_catalog.pg_auth_members ORDER BY id, roleid::text;
SELECT T.oid::bigint AS id, T.spcname AS name, T.xmin AS state_number, pg_catalog.pg_get_userbyid(T.spcowner) AS owner, pg_catalog.pg_tablespace_location(T.oid) AS location, T.spcoptions AS options, D.description AS comment FROM pg_catalog.pg_tablespace T LEFT JOIN pg_catalog.pg_shdescription D ON D.objoid = T.oid ORDER BY T.oid
--- DataGrip: objects that a database may have and this one has not
SELECT t.oid AS id, t.xmin AS state_number, t.evtname AS name, t.evtevent AS event, t.evtfoid AS routine_id, pg_catalog.pg_get_userbyid(t.evtowner) AS owner, t.evttags AS tags FROM pg_catalog.pg_event_trigger t;
SELECT fdw.oid AS id, fdw.fdwname AS name, pr.proname AS handler, fdw.fdwoptions AS options FROM pg_catalog.pg_foreign_data_wrapper fdw LEFT OUTER JOIN pg_catalog.pg_proc pr ON fdw.fdwhandler = pr.oid;
SELECT srv.oid AS id, srv.srvfdw AS fdw_id, srv.srvname AS name, srv.srvtype AS type, srv.srvoptions AS options FROM pg_catalog.pg_foreign_server srv;
SELECT oid AS id, umserver AS server_id, CASE WHEN umuser = 0 THEN null ELSE pg_catalog.pg_get_userbyid(umuser) END AS user, umoptions AS options FROM pg_catalog.pg_user_mapping ORDER BY server_id;
SELECT ft.ftrelid AS table_id, srv.srvname AS table_server, ft.ftoptions AS table_options FROM pg_catalog.pg_foreign_table ft LEFT OUTER JOIN pg_catalog.pg_foreign_server srv ON ft.ftserver = srv.oid ORDER BY table_id
--- DataGrip: access methods, languages, extensions
SELECT A.oid AS access_method_id, A.amname AS access_method_name, A.amhandler::oid AS handler_id, pg_catalog.quote_ident(N.nspname) || '.' || pg_catalog.quote_ident(P.proname) AS handler_name, A.amtype AS access_method_type FROM pg_am A JOIN pg_proc P ON A.amhandler::oid = P.oid JOIN pg_namespace N ON P.pronamespace = N.oid ORDER BY A.oid;
SELECT l.oid AS id, lanname AS name, lanpltrusted AS trusted, h.proname AS handler, i.proname AS inline, v.proname AS validator FROM pg_catalog.pg_language l LEFT JOIN pg_catalog.pg_proc h ON h.oid = lanplcallfoid LEFT JOIN pg_catalog.pg_proc i ON i.oid = laninline LEFT JOIN pg_catalog.pg_proc v ON v.oid = lanvalidator ORDER BY lanname;
SELECT extname AS name, nspname AS schema_name, array(SELECT unnest FROM unnest(available_versions) WHERE unnest > extversion) AS available_updates FROM pg_catalog.pg_extension E JOIN pg_namespace N ON E.extnamespace = N.oid LEFT JOIN (SELECT name, array_agg(version) AS available_versions FROM pg_available_extension_versions() GROUP BY name) V ON E.extname = V.name WHERE extname = 'plpgsql' ORDER BY extname
--- DataGrip: what there is in a schema
SELECT T.relname AS name, pg_catalog.translate(relkind, 'rmvpfS', 'rmvrfS') AS kind FROM pg_catalog.pg_class T WHERE relnamespace IN (:shop) AND relkind IN ('r', 'm', 'v', 'p', 'f', 'S')
UNION ALL SELECT T.typname, 'T' FROM pg_catalog.pg_type T LEFT OUTER JOIN pg_catalog.pg_class C ON T.typrelid = C.oid WHERE T.typnamespace IN (:shop) AND (T.typtype IN ('d', 'e') OR C.relkind = 'c' OR (T.typtype = 'b' AND (T.typelem = 0 OR T.typcategory <> 'A')) OR T.typtype = 'p' AND NOT T.typisdefined)
UNION ALL SELECT collname, 'C' FROM pg_catalog.pg_collation WHERE collnamespace IN (:shop) UNION ALL SELECT oprname, 'O' FROM pg_catalog.pg_operator WHERE oprnamespace IN (:shop)
UNION ALL SELECT opcname, 'c' FROM pg_catalog.pg_opclass WHERE opcnamespace IN (:shop) UNION ALL SELECT opfname, 'F' FROM pg_catalog.pg_opfamily WHERE opfnamespace IN (:shop)
UNION ALL SELECT proname, CASE WHEN prokind != 'a' THEN 'R' ELSE 'a' END FROM pg_catalog.pg_proc WHERE pronamespace IN (:shop)
--- DataGrip: sequences and types that changed since a transaction
SELECT cls.xmin AS sequence_state_number, sq.seqrelid AS sequence_id, cls.relname AS sequence_name, pg_catalog.format_type(sq.seqtypid, null) AS data_type, sq.seqstart AS start_value, sq.seqincrement AS inc_value, sq.seqmin AS min_value, sq.seqmax AS max_value, sq.seqcache AS cache_size, sq.seqcycle AS cycle_option
FROM pg_catalog.pg_sequence sq JOIN pg_class cls ON sq.seqrelid = cls.oid WHERE cls.relnamespace = :shop::oid AND pg_catalog.age(cls.xmin) <= coalesce(nullif(greatest(pg_catalog.age('1'::varchar::xid), -1), -1), 2147483647) ORDER BY cls.relname;
SELECT T.oid AS type_id, T.xmin AS type_state_number, T.typname AS type_name, T.typtype AS type_sub_kind, T.typcategory AS type_category, T.typrelid AS class_id, T.typbasetype AS base_type_id, CASE WHEN T.typtype IN ('c', 'e') THEN null ELSE pg_catalog.format_type(T.typbasetype, T.typtypmod) END AS type_def, T.typdefault AS default_expression, T.typnotnull AS mandatory
FROM pg_catalog.pg_type T LEFT OUTER JOIN pg_catalog.pg_class C ON T.typrelid = C.oid WHERE T.typnamespace = :shop::oid AND (T.typtype IN ('d', 'e') OR C.relkind = 'c') ORDER BY T.typname
--- DataGrip: tables of a schema
SELECT T.relkind AS table_kind, T.relname AS table_name, T.oid AS table_id, T.xmin AS table_state_number, false AS table_with_oids, T.reltablespace AS tablespace_id, T.reloptions AS options, T.relpersistence AS persistence,
  (SELECT pg_catalog.array_agg(inhparent::bigint ORDER BY inhseqno)::varchar FROM pg_catalog.pg_inherits WHERE T.oid = inhrelid) AS ancestors, T.relispartition AS is_partition, pg_catalog.pg_get_partkeydef(T.oid) AS partition_key, T.relam am_id
FROM pg_catalog.pg_class T WHERE relnamespace = :shop::oid AND relkind IN ('r', 'm', 'v', 'f', 'p') ORDER BY table_kind, table_id
--- DataGrip: columns of a schema
WITH T AS (SELECT DISTINCT T.oid AS table_id, T.relname AS table_name FROM pg_catalog.pg_class T, pg_catalog.pg_attribute A WHERE T.relnamespace = :shop::oid AND T.relkind IN ('r', 'm', 'v', 'f', 'p') AND (pg_catalog.age(A.xmin) <= 2147483647 OR pg_catalog.age(T.xmin) <= 2147483647) AND A.attrelid = T.oid)
SELECT T.table_name, C.attnum AS column_position, C.attname AS column_name, C.atttypmod AS type_mod, C.attndims AS dimensions_number, pg_catalog.format_type(C.atttypid, C.atttypmod) AS type_spec, C.atttypid AS type_id, C.attnotnull AS mandatory,
  pg_catalog.pg_get_expr(D.adbin, T.table_id) AS column_default_expression, not C.attislocal AS column_is_inherited, C.attfdwoptions AS options, C.attisdropped AS column_is_dropped, C.attidentity AS identity_kind, C.attgenerated AS generated
FROM T JOIN pg_catalog.pg_attribute C ON T.table_id = C.attrelid LEFT JOIN pg_catalog.pg_attrdef D ON (C.attrelid, C.attnum) = (D.adrelid, D.adnum) WHERE attnum > 0 ORDER BY T.table_name, attnum
--- DataGrip: indexes and constraints of a schema
SELECT tab.relname AS table_name, ind_head.indexrelid index_id, ind_stor.relname AS index_name, ind_head.indisunique AS is_unique, ind_head.indisprimary AS is_primary, pg_catalog.pg_get_expr(ind_head.indpred, ind_head.indrelid) AS condition, ind_stor.reltablespace AS tablespace_id, opcmethod AS access_method_id,
  unnest(ind_head.indkey) AS column_id, unnest(ind_head.indoption) AS options
FROM pg_catalog.pg_class tab JOIN pg_catalog.pg_index ind_head ON ind_head.indrelid = tab.oid JOIN pg_catalog.pg_class ind_stor ON tab.relnamespace = ind_stor.relnamespace AND ind_stor.oid = ind_head.indexrelid
LEFT JOIN pg_catalog.pg_opclass ON pg_opclass.oid = ANY(indclass) AND false WHERE tab.relnamespace = :shop::oid AND tab.relkind IN ('r', 'm', 'v', 'p') AND ind_stor.relkind IN ('i', 'I') ORDER BY tab.relname, ind_stor.relname;
SELECT T.relname AS table_name, T.relkind AS table_kind, C.oid::bigint AS con_id, C.conname AS con_name, C.contype AS con_kind, C.conkey AS con_columns, C.conindid AS index_id, C.confrelid AS ref_table_id, C.condeferrable AS is_deferrable, C.condeferred AS is_init_deferred, C.confupdtype AS on_update, C.confdeltype AS on_delete, C.connoinherit AS no_inherit,
  pg_catalog.pg_get_expr(C.conbin, T.oid) AS con_expression, C.confkey AS ref_columns, C.conexclop::int[] AS excl_operators
FROM pg_catalog.pg_constraint C JOIN pg_catalog.pg_class T ON C.conrelid = T.oid WHERE T.relkind IN ('r', 'v', 'f', 'p') AND T.relnamespace = :shop::oid AND C.contype IN ('p', 'u', 'f', 'c', 'x') ORDER BY T.relname, C.conname
--- DataGrip: routines, views, descriptions
SELECT proname AS r_name, prolang AS lang_oid, proargnames AS arg_names, proargmodes AS arg_modes, proargtypes AS in_arg_types, proallargtypes::int[] AS all_arg_types, pg_catalog.pg_get_expr(proargdefaults, 0) AS arg_defaults, provariadic AS arg_variadic_id, prorettype AS ret_type_id, proretset AS ret_set, prokind AS kind, provolatile AS volatile_kind, proisstrict AS is_strict, prosecdef AS is_security_definer, proconfig AS configuration_parameters, procost AS cost, prorows AS rows, proleakproof AS is_leakproof, proparallel AS concurrency_kind
FROM pg_catalog.pg_proc WHERE pronamespace = :shop::oid AND NOT (prokind = 'a') ORDER BY proname;
SELECT T.relkind AS view_kind, T.relname AS view_name, pg_catalog.pg_get_viewdef(T.oid, true) AS source_text FROM pg_catalog.pg_class T JOIN pg_catalog.pg_namespace N ON T.relnamespace = N.oid WHERE N.oid = :shop::oid AND T.relkind IN ('m', 'v') ORDER BY T.relname;
SELECT T.relname, T.relkind AS kind, D.objsubid, D.description FROM pg_catalog.pg_class T, pg_catalog.pg_description D WHERE D.objoid = T.oid AND D.classoid = 'pg_catalog.pg_class'::regclass AND T.relnamespace = :shop::oid ORDER BY T.relname, D.objsubid
--- Metabase: time zone, enumerated types, privileges
SHOW timezone;
SELECT nspname, typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid IN (SELECT DISTINCT enumtypid FROM pg_enum e);
WITH table_privileges AS (SELECT NULL AS role, t.schemaname AS schema, t.objectname AS table, pg_catalog.has_any_column_privilege(current_user, '"' || t.schemaname || '"' || '.' || '"' || t.objectname || '"', 'update') AS update,
  pg_catalog.has_any_column_privilege(current_user, '"' || t.schemaname || '"' || '.' || '"' || t.objectname || '"', 'select') AS select, pg_catalog.has_table_privilege(current_user, '"' || t.schemaname || '"' || '.' || '"' || t.objectname || '"', 'delete') AS delete
  FROM (SELECT schemaname, tablename AS objectname FROM pg_catalog.pg_tables UNION SELECT schemaname, viewname FROM pg_catalog.pg_views UNION SELECT schemaname, matviewname FROM pg_catalog.pg_matviews) t
  WHERE t.schemaname !~ '^pg_' AND t.schemaname <> 'information_schema' AND pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage'))
SELECT * FROM table_privileges ORDER BY "schema", "table"
--- Metabase: tables
SELECT "n"."nspname" AS "schema", "c"."relname" AS "name", CASE "c"."relkind" WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'v' THEN 'VIEW' WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END AS "type", "d"."description" AS "description", "stat"."n_live_tup" IS NULL AS "no_row_count"
FROM "pg_catalog"."pg_class" AS "c" INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "c"."relnamespace" = "n"."oid" LEFT JOIN "pg_catalog"."pg_description" AS "d" ON ("c"."oid" = "d"."objoid") AND ("d"."objsubid" = 0) AND ("d"."classoid" = 'pg_class'::regclass)
LEFT JOIN "pg_stat_user_tables" AS "stat" ON ("n"."nspname" = "stat"."schemaname") AND ("c"."relname" = "stat"."relname") WHERE ("c"."relnamespace" = "n"."oid") AND ("n"."nspname" !~ '^pg_') AND ("n"."nspname" <> 'information_schema') AND c.relkind IN ('r', 'p', 'v', 'f', 'm') AND ("n"."nspname" IN ('public', 'shop')) ORDER BY "type" ASC, "schema" ASC, "name" ASC
--- Metabase: fields
SELECT "c"."column_name" AS "name", CASE WHEN "c"."udt_schema" IN ('public', 'pg_catalog') THEN FORMAT('%s', "c"."udt_name") ELSE FORMAT('"%s"."%s"', "c"."udt_schema", "c"."udt_name") END AS "database-type", "c"."ordinal_position" - 1 AS "database-position", "c"."table_schema" AS "table-schema", "c"."table_name" AS "table-name", "pk"."column_name" IS NOT NULL AS "pk?",
  COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST("c"."table_schema" AS TEXT), CAST("c"."table_name" AS TEXT)) AS REGCLASS) AS OID), "c"."ordinal_position") AS "field-comment",
  (("column_default" IS NULL) OR (LOWER("column_default") = 'null')) AND ("is_nullable" = 'NO') AND NOT ((("column_default" IS NOT NULL) AND ("column_default" LIKE '%nextval(%')) OR ("is_identity" <> 'NO')) AS "database-required",
  (("column_default" IS NOT NULL) AND ("column_default" LIKE '%nextval(%')) OR ("is_identity" <> 'NO') AS "database-is-auto-increment"
FROM "information_schema"."columns" AS "c" LEFT JOIN (SELECT "tc"."table_schema", "tc"."table_name", "kc"."column_name" FROM "information_schema"."table_constraints" AS "tc" INNER JOIN "information_schema"."key_column_usage" AS "kc" ON ("tc"."constraint_name" = "kc"."constraint_name") AND ("tc"."table_schema" = "kc"."table_schema") AND ("tc"."table_name" = "kc"."table_name") WHERE "tc"."constraint_type" = 'PRIMARY KEY') AS "pk"
  ON ("c"."table_schema" = "pk"."table_schema") AND ("c"."table_name" = "pk"."table_name") AND ("c"."column_name" = "pk"."column_name") WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND ("c"."table_schema" IN ('shop'))
UNION ALL SELECT "pa"."attname", CASE WHEN "ptn"."nspname" IN ('public', 'pg_catalog') THEN FORMAT('%s', "pt"."typname") ELSE FORMAT('"%s"."%s"', "ptn"."nspname", "pt"."typname") END, "pa"."attnum" - 1, "pn"."nspname", "pc"."relname", FALSE, NULL, FALSE, FALSE
FROM "pg_catalog"."pg_class" AS "pc" INNER JOIN "pg_catalog"."pg_namespace" AS "pn" ON "pn"."oid" = "pc"."relnamespace" INNER JOIN "pg_catalog"."pg_attribute" AS "pa" ON "pa"."attrelid" = "pc"."oid" INNER JOIN "pg_catalog"."pg_type" AS "pt" ON "pt"."oid" = "pa"."atttypid" INNER JOIN "pg_catalog"."pg_namespace" AS "ptn" ON "ptn"."oid" = "pt"."typnamespace"
WHERE ("pc"."relkind" = 'm') AND ("pa"."attnum" >= 1) AND ("pn"."nspname" IN ('shop')) ORDER BY "table-schema" ASC, "table-name" ASC, "database-position" ASC
--- Metabase: foreign keys and indexes
SELECT "fk_ns"."nspname" AS "fk-table-schema", "fk_table"."relname" AS "fk-table-name", "fk_column"."attname" AS "fk-column-name", "pk_ns"."nspname" AS "pk-table-schema", "pk_table"."relname" AS "pk-table-name", "pk_column"."attname" AS "pk-column-name"
FROM "pg_constraint" AS "c" INNER JOIN "pg_class" AS "fk_table" ON "c"."conrelid" = "fk_table"."oid" INNER JOIN "pg_namespace" AS "fk_ns" ON "c"."connamespace" = "fk_ns"."oid" INNER JOIN "pg_attribute" AS "fk_column" ON "c"."conrelid" = "fk_column"."attrelid" INNER JOIN "pg_class" AS "pk_table" ON "c"."confrelid" = "pk_table"."oid" INNER JOIN "pg_namespace" AS "pk_ns" ON "pk_table"."relnamespace" = "pk_ns"."oid" INNER JOIN "pg_attribute" AS "pk_column" ON "c"."confrelid" = "pk_column"."attrelid"
WHERE fk_ns.nspname !~ '^information_schema|catalog_history|pg_' AND ("c"."contype" = 'f'::char) AND ("fk_column"."attnum" = ANY(c.conkey)) AND ("pk_column"."attnum" = ANY(c.confkey)) ORDER BY "fk-table-schema" ASC, "fk-table-name" ASC;
SELECT tmp.table_name, tmp.index_name, TRIM(BOTH '"' FROM pg_catalog.PG_GET_INDEXDEF(tmp.ci_oid, tmp.pos, FALSE)) AS field, tmp.is_unique FROM (SELECT ct.relname AS table_name, ci.relname AS index_name, ci.oid AS ci_oid, i.indisunique AS is_unique, (information_schema._pg_expandarray(i.indkey)).n AS pos
FROM pg_catalog.pg_class ct JOIN pg_catalog.pg_namespace n ON ct.relnamespace = n.oid JOIN pg_catalog.pg_index i ON ct.oid = i.indrelid JOIN pg_catalog.pg_class ci ON ci.oid = i.indexrelid WHERE i.indpred IS NULL AND n.nspname = 'shop') AS tmp ORDER BY tmp.table_name, tmp.index_name, tmp.pos
