# tolerant
# What roles with some rights may do to others: signals, owners of databases, names of schemas.
== roles
sql CREATE ROLE signaller LOGIN
sql GRANT pg_signal_backend TO signaller
sql CREATE ROLE maker LOGIN CREATEDB
sql CREATE ROLE plain LOGIN
sql CREATE SCHEMA of_maker AUTHORIZATION maker
== signals
login {"user": "signaller"}
> SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres' AND pid <> pg_backend_pid()
< ERROR 42501 permission denied to terminate process
<   detail: Only roles with the SUPERUSER attribute may terminate processes of roles with the SUPERUSER attribute.
> SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres' AND pid <> pg_backend_pid()
< ERROR 42501 permission denied to cancel query
<   detail: Only roles with the SUPERUSER attribute may cancel queries of roles with the SUPERUSER attribute.
> SELECT pg_terminate_backend(2147483647)
< WARNING 01000 PID 2147483647 is not a PostgreSQL backend process
< |f|
< SELECT 1
== signals by nobody
login {"user": "plain"}
> SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres' AND pid <> pg_backend_pid()
< ERROR 42501 permission denied to cancel query
<   detail: Only roles with the SUPERUSER attribute may cancel queries of roles with the SUPERUSER attribute.
> SELECT pg_terminate_backend(2147483647)
< WARNING 01000 PID 2147483647 is not a PostgreSQL backend process
< |f|
< SELECT 1
== owners
login {"user": "maker"}
> CREATE DATABASE of_postgres OWNER postgres
< ERROR 42501 must be able to SET ROLE "postgres"
> CREATE DATABASE of_plain OWNER plain
< ERROR 42501 must be able to SET ROLE "plain"
> ALTER SCHEMA of_maker RENAME TO mine
< ERROR 42501 permission denied for database entry
> ALTER SCHEMA of_maker OWNER TO plain
< ERROR 42501 must be able to SET ROLE "plain"
