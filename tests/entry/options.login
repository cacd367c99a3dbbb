# tolerant
# What a start-up packet may ask for: each setting by its context in pg_settings, by a superuser and by another role.
== roles
sql CREATE ROLE mallory LOGIN
sql CREATE ROLE boss LOGIN SUPERUSER
sql CREATE ROLE crew
sql GRANT crew TO mallory
== mallory: role=postgres
login {"user": "mallory", "options": "-c role=postgres"}
< FATAL 42501 permission denied to set role "postgres"
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: role=crew
login {"user": "mallory", "options": "-c role=crew"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |crew|mallory|off|
< SELECT 1
== mallory: role=none
login {"user": "mallory", "options": "-c role=none"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |mallory|mallory|off|
< SELECT 1
== mallory: role=nosuch
login {"user": "mallory", "options": "-c role=nosuch"}
< FATAL 22023 role "nosuch" does not exist
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: role=boss
login {"user": "mallory", "options": "-c role=boss"}
< FATAL 42501 permission denied to set role "boss"
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: session_authorization=postgres
login {"user": "mallory", "options": "-c session_authorization=postgres"}
< FATAL 42501 permission denied to set session authorization "postgres"
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: session_authorization=boss
login {"user": "mallory", "options": "-c session_authorization=boss"}
< FATAL 42501 permission denied to set session authorization "boss"
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: session_authorization=mallory
login {"user": "mallory", "options": "-c session_authorization=mallory"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |mallory|mallory|off|
< SELECT 1
== mallory: session_authorization=nosuch
login {"user": "mallory", "options": "-c session_authorization=nosuch"}
< FATAL 22023 role "nosuch" does not exist
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: is_superuser=on
login {"user": "mallory", "options": "-c is_superuser=on"}
< FATAL 55P02 parameter "is_superuser" cannot be changed
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: server_version=1
login {"user": "mallory", "options": "-c server_version=1"}
< FATAL 55P02 parameter "server_version" cannot be changed
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: max_connections=7
login {"user": "mallory", "options": "-c max_connections=7"}
< FATAL 55P02 parameter "max_connections" cannot be changed without restarting the server
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: fsync=off
login {"user": "mallory", "options": "-c fsync=off"}
< FATAL 55P02 parameter "fsync" cannot be changed now
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: ROLE=postgres
login {"user": "mallory", "options": "-c ROLE=postgres"}
< FATAL 42501 permission denied to set role "postgres"
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: Session_Authorization=postgres
login {"user": "mallory", "options": "-c Session_Authorization=postgres"}
< FATAL 42501 permission denied to set session authorization "postgres"
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: nosuch=off
login {"user": "mallory", "options": "-c nosuch=off"}
< FATAL 42704 unrecognized configuration parameter "nosuch"
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: work_mem=banana
login {"user": "mallory", "options": "-c work_mem=banana"}
< FATAL 22023 invalid value for parameter "work_mem": "banana"
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: datestyle=banana
login {"user": "mallory", "options": "-c datestyle=banana"}
< FATAL 22023 invalid value for parameter "DateStyle": "banana"
<   detail: Unrecognized key word: "banana".
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: row_security=maybe
login {"user": "mallory", "options": "-c row_security=maybe"}
< FATAL 22023 parameter "row_security" requires a Boolean value
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: log_statement
login {"user": "mallory", "options": "-c log_statement=all"}
< FATAL 42501 permission denied to set parameter "log_statement"
> SHOW log_statement
> RESET log_statement
> SHOW log_statement
== mallory: session_replication_role
login {"user": "mallory", "options": "-c session_replication_role=origin"}
< FATAL 42501 permission denied to set parameter "session_replication_role"
> SHOW session_replication_role
> RESET session_replication_role
> SHOW session_replication_role
== mallory: log_connections
login {"user": "mallory", "options": "-c log_connections=on"}
< FATAL 42501 permission denied to set parameter "log_connections"
> SHOW log_connections
> RESET log_connections
> SHOW log_connections
== mallory: log_disconnections
login {"user": "mallory", "options": "-c log_disconnections=off"}
< FATAL 42501 permission denied to set parameter "log_disconnections"
> SHOW log_disconnections
> RESET log_disconnections
> SHOW log_disconnections
== mallory: ignore_system_indexes
login {"user": "mallory", "options": "-c ignore_system_indexes=off"}
> SHOW ignore_system_indexes
< |off|
< SHOW
> RESET ignore_system_indexes
< ERROR 55P02 parameter "ignore_system_indexes" cannot be set after connection start
> SHOW ignore_system_indexes
< |off|
< SHOW
== mallory: post_auth_delay
login {"user": "mallory", "options": "-c post_auth_delay=0"}
> SHOW post_auth_delay
< |0|
< SHOW
> RESET post_auth_delay
< ERROR 55P02 parameter "post_auth_delay" cannot be set after connection start
> SHOW post_auth_delay
< |0|
< SHOW
== mallory: zero_damaged_pages
login {"user": "mallory", "options": "-c zero_damaged_pages=off"}
< FATAL 42501 permission denied to set parameter "zero_damaged_pages"
> SHOW zero_damaged_pages
> RESET zero_damaged_pages
> SHOW zero_damaged_pages
== mallory: lo_compat_privileges
login {"user": "mallory", "options": "-c lo_compat_privileges=off"}
< FATAL 42501 permission denied to set parameter "lo_compat_privileges"
> SHOW lo_compat_privileges
> RESET lo_compat_privileges
> SHOW lo_compat_privileges
== mallory: my.custom
login {"user": "mallory", "options": "-c my.custom=x"}
> SHOW my.custom
< |x|
< SHOW
> RESET my.custom
< RESET
> SHOW my.custom
< |x|
< SHOW
== mallory: search_path
login {"user": "mallory", "options": "-c search_path=pg_catalog"}
> SHOW search_path
< |pg_catalog|
< SHOW
> RESET search_path
< RESET
> SHOW search_path
< |pg_catalog|
< SHOW
== mallory: DateStyle
login {"user": "mallory", "options": "-c DateStyle=german"}
> SHOW DateStyle
< |German, DMY|
< SHOW
> RESET DateStyle
< RESET
> SHOW DateStyle
< |German, DMY|
< SHOW
== mallory: work_mem
login {"user": "mallory", "options": "-c work_mem=8MB"}
> SHOW work_mem
< |8MB|
< SHOW
> RESET work_mem
< RESET
> SHOW work_mem
< |8MB|
< SHOW
== mallory: lc_messages
login {"user": "mallory", "options": "-c lc_messages=C"}
< FATAL 42501 permission denied to set parameter "lc_messages"
> SHOW lc_messages
> RESET lc_messages
> SHOW lc_messages
== mallory: track_functions
login {"user": "mallory", "options": "-c track_functions=none"}
< FATAL 42501 permission denied to set parameter "track_functions"
> SHOW track_functions
> RESET track_functions
> SHOW track_functions
== mallory: default_transaction_read_only
login {"user": "mallory", "options": "-c default_transaction_read_only=on"}
> SHOW default_transaction_read_only
< |on|
< SHOW
> RESET default_transaction_read_only
< RESET
> SHOW default_transaction_read_only
< |on|
< SHOW
== mallory: transaction_read_only
login {"user": "mallory", "options": "-c transaction_read_only=on"}
> SHOW transaction_read_only
< |off|
< SHOW
> RESET transaction_read_only
< ERROR 0A000 parameter "transaction_read_only" cannot be reset
> SHOW transaction_read_only
< |off|
< SHOW
== mallory: the parameter role
login {"user": "mallory", "role": "postgres"}
< FATAL 42501 permission denied to set role "postgres"
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: the parameter session_authorization
login {"user": "mallory", "session_authorization": "postgres"}
< FATAL 42501 permission denied to set session authorization "postgres"
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: the parameter log_statement
login {"user": "mallory", "log_statement": "all"}
< FATAL 42501 permission denied to set parameter "log_statement"
> SHOW log_statement
== mallory: two dashes
login {"user": "mallory", "options": "--role=postgres"}
< FATAL 42501 permission denied to set role "postgres"
> SELECT current_user, session_user, current_setting('is_superuser')
== mallory: an isolation level
login {"user": "mallory", "options": "-c transaction_isolation=serializable"}
> SHOW default_transaction_isolation
< |read committed|
< SHOW
== mallory: a default isolation level
login {"user": "mallory", "options": "-c default_transaction_isolation=serializable"}
> SHOW transaction_isolation
< |serializable|
< SHOW
== mallory: changes in the session
login {"user": "mallory", "options": "-c role=crew"}
> RESET ALL
< RESET
> SELECT current_user
< |crew|
< SELECT 1
> RESET ROLE
< RESET
> SELECT current_user
< |crew|
< SELECT 1
> SET ROLE NONE
< SET
> SELECT current_user
< |mallory|
< SELECT 1
> RESET ROLE
< RESET
> DISCARD ALL
< DISCARD ALL
> SELECT current_user
< |crew|
< SELECT 1
== mallory: SET
login {"user": "mallory"}
> SET ROLE crew
< SET
> RESET ALL
< RESET
> SELECT current_user
< |crew|
< SELECT 1
> DISCARD ALL
< DISCARD ALL
> SELECT current_user
< |mallory|
< SELECT 1
> SET log_connections = on
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
> SET ignore_system_indexes = off
< ERROR 55P02 parameter "ignore_system_indexes" cannot be set after connection start
> SET post_auth_delay = 0
< ERROR 55P02 parameter "post_auth_delay" cannot be set after connection start
> SET fsync = off
< ERROR 55P02 parameter "fsync" cannot be changed now
> SET max_connections = 7
< ERROR 55P02 parameter "max_connections" cannot be changed without restarting the server
> SET is_superuser = on
< ERROR 55P02 parameter "is_superuser" cannot be changed
> SET server_version = 1
< ERROR 55P02 parameter "server_version" cannot be changed
> SET log_statement = none
< ERROR 42501 permission denied to set parameter "log_statement"
> SET session_authorization = boss
< ERROR 42501 permission denied to set session authorization "boss"
> SET session_authorization = postgres
< ERROR 42501 permission denied to set session authorization "postgres"
> SET session_authorization = mallory
< SET
> SET role = boss
< ERROR 42501 permission denied to set role "boss"
> RESET log_statement
< ERROR 42501 permission denied to set parameter "log_statement"
> RESET log_connections
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
> RESET is_superuser
< ERROR 55P02 parameter "is_superuser" cannot be changed
> SET LOCAL log_statement = 'all'
< WARNING 25P01 SET LOCAL can only be used in transaction blocks
< ERROR 42501 permission denied to set parameter "log_statement"
> BEGIN; SET LOCAL log_statement = 'none'; COMMIT
< BEGIN
< ERROR 42501 permission denied to set parameter "log_statement"
> ROLLBACK
< ROLLBACK
> SELECT set_config('log_statement','none',false)
< ERROR 42501 permission denied to set parameter "log_statement"
> SELECT set_config('role','boss',false)
< ERROR 42501 permission denied to set role "boss"
> SELECT set_config('session_authorization','postgres',true)
< ERROR 42501 permission denied to set session authorization "postgres"
> SELECT set_config('is_superuser','on',true)
< ERROR 55P02 parameter "is_superuser" cannot be changed
> SELECT set_config('log_connections','on',true)
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
> SELECT current_user, session_user
< |mallory|mallory|
< SELECT 1
== boss: role=postgres
login {"user": "boss", "options": "-c role=postgres"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |postgres|boss|on|
< SELECT 1
== boss: role=crew
login {"user": "boss", "options": "-c role=crew"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |crew|boss|off|
< SELECT 1
== boss: role=none
login {"user": "boss", "options": "-c role=none"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |boss|boss|on|
< SELECT 1
== boss: role=nosuch
login {"user": "boss", "options": "-c role=nosuch"}
< FATAL 22023 role "nosuch" does not exist
> SELECT current_user, session_user, current_setting('is_superuser')
== boss: role=boss
login {"user": "boss", "options": "-c role=boss"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |boss|boss|on|
< SELECT 1
== boss: session_authorization=postgres
login {"user": "boss", "options": "-c session_authorization=postgres"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |boss|boss|on|
< SELECT 1
== boss: session_authorization=boss
login {"user": "boss", "options": "-c session_authorization=boss"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |boss|boss|on|
< SELECT 1
== boss: session_authorization=mallory
login {"user": "boss", "options": "-c session_authorization=mallory"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |boss|boss|on|
< SELECT 1
== boss: session_authorization=nosuch
login {"user": "boss", "options": "-c session_authorization=nosuch"}
< FATAL 22023 role "nosuch" does not exist
> SELECT current_user, session_user, current_setting('is_superuser')
== boss: is_superuser=on
login {"user": "boss", "options": "-c is_superuser=on"}
< FATAL 55P02 parameter "is_superuser" cannot be changed
> SELECT current_user, session_user, current_setting('is_superuser')
== boss: server_version=1
login {"user": "boss", "options": "-c server_version=1"}
< FATAL 55P02 parameter "server_version" cannot be changed
> SELECT current_user, session_user, current_setting('is_superuser')
== boss: max_connections=7
login {"user": "boss", "options": "-c max_connections=7"}
< FATAL 55P02 parameter "max_connections" cannot be changed without restarting the server
> SELECT current_user, session_user, current_setting('is_superuser')
== boss: fsync=off
login {"user": "boss", "options": "-c fsync=off"}
< FATAL 55P02 parameter "fsync" cannot be changed now
> SELECT current_user, session_user, current_setting('is_superuser')
== boss: ROLE=postgres
login {"user": "boss", "options": "-c ROLE=postgres"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |postgres|boss|on|
< SELECT 1
== boss: Session_Authorization=postgres
login {"user": "boss", "options": "-c Session_Authorization=postgres"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |boss|boss|on|
< SELECT 1
== boss: nosuch=off
login {"user": "boss", "options": "-c nosuch=off"}
< FATAL 42704 unrecognized configuration parameter "nosuch"
> SELECT current_user, session_user, current_setting('is_superuser')
== boss: work_mem=banana
login {"user": "boss", "options": "-c work_mem=banana"}
< FATAL 22023 invalid value for parameter "work_mem": "banana"
> SELECT current_user, session_user, current_setting('is_superuser')
== boss: datestyle=banana
login {"user": "boss", "options": "-c datestyle=banana"}
< FATAL 22023 invalid value for parameter "DateStyle": "banana"
<   detail: Unrecognized key word: "banana".
> SELECT current_user, session_user, current_setting('is_superuser')
== boss: row_security=maybe
login {"user": "boss", "options": "-c row_security=maybe"}
< FATAL 22023 parameter "row_security" requires a Boolean value
> SELECT current_user, session_user, current_setting('is_superuser')
== boss: log_statement
login {"user": "boss", "options": "-c log_statement=all"}
> SHOW log_statement
< |all|
< SHOW
> RESET log_statement
< RESET
> SHOW log_statement
< |all|
< SHOW
== boss: session_replication_role
login {"user": "boss", "options": "-c session_replication_role=origin"}
> SHOW session_replication_role
< |origin|
< SHOW
> RESET session_replication_role
< RESET
> SHOW session_replication_role
< |origin|
< SHOW
== boss: log_connections
login {"user": "boss", "options": "-c log_connections=on"}
> SHOW log_connections
< |on|
< SHOW
> RESET log_connections
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
> SHOW log_connections
< |on|
< SHOW
== boss: log_disconnections
login {"user": "boss", "options": "-c log_disconnections=off"}
> SHOW log_disconnections
< |off|
< SHOW
> RESET log_disconnections
< ERROR 55P02 parameter "log_disconnections" cannot be set after connection start
> SHOW log_disconnections
< |off|
< SHOW
== boss: ignore_system_indexes
login {"user": "boss", "options": "-c ignore_system_indexes=off"}
> SHOW ignore_system_indexes
< |off|
< SHOW
> RESET ignore_system_indexes
< ERROR 55P02 parameter "ignore_system_indexes" cannot be set after connection start
> SHOW ignore_system_indexes
< |off|
< SHOW
== boss: post_auth_delay
login {"user": "boss", "options": "-c post_auth_delay=0"}
> SHOW post_auth_delay
< |0|
< SHOW
> RESET post_auth_delay
< ERROR 55P02 parameter "post_auth_delay" cannot be set after connection start
> SHOW post_auth_delay
< |0|
< SHOW
== boss: zero_damaged_pages
login {"user": "boss", "options": "-c zero_damaged_pages=off"}
> SHOW zero_damaged_pages
< |off|
< SHOW
> RESET zero_damaged_pages
< RESET
> SHOW zero_damaged_pages
< |off|
< SHOW
== boss: lo_compat_privileges
login {"user": "boss", "options": "-c lo_compat_privileges=off"}
> SHOW lo_compat_privileges
< |off|
< SHOW
> RESET lo_compat_privileges
< RESET
> SHOW lo_compat_privileges
< |off|
< SHOW
== boss: my.custom
login {"user": "boss", "options": "-c my.custom=x"}
> SHOW my.custom
< |x|
< SHOW
> RESET my.custom
< RESET
> SHOW my.custom
< |x|
< SHOW
== boss: search_path
login {"user": "boss", "options": "-c search_path=pg_catalog"}
> SHOW search_path
< |pg_catalog|
< SHOW
> RESET search_path
< RESET
> SHOW search_path
< |pg_catalog|
< SHOW
== boss: DateStyle
login {"user": "boss", "options": "-c DateStyle=german"}
> SHOW DateStyle
< |German, DMY|
< SHOW
> RESET DateStyle
< RESET
> SHOW DateStyle
< |German, DMY|
< SHOW
== boss: work_mem
login {"user": "boss", "options": "-c work_mem=8MB"}
> SHOW work_mem
< |8MB|
< SHOW
> RESET work_mem
< RESET
> SHOW work_mem
< |8MB|
< SHOW
== boss: lc_messages
login {"user": "boss", "options": "-c lc_messages=C"}
> SHOW lc_messages
< |C|
< SHOW
> RESET lc_messages
< RESET
> SHOW lc_messages
< |C|
< SHOW
== boss: track_functions
login {"user": "boss", "options": "-c track_functions=none"}
> SHOW track_functions
< |none|
< SHOW
> RESET track_functions
< RESET
> SHOW track_functions
< |none|
< SHOW
== boss: default_transaction_read_only
login {"user": "boss", "options": "-c default_transaction_read_only=on"}
> SHOW default_transaction_read_only
< |on|
< SHOW
> RESET default_transaction_read_only
< RESET
> SHOW default_transaction_read_only
< |on|
< SHOW
== boss: transaction_read_only
login {"user": "boss", "options": "-c transaction_read_only=on"}
> SHOW transaction_read_only
< |off|
< SHOW
> RESET transaction_read_only
< ERROR 0A000 parameter "transaction_read_only" cannot be reset
> SHOW transaction_read_only
< |off|
< SHOW
== boss: the parameter role
login {"user": "boss", "role": "postgres"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |postgres|boss|on|
< SELECT 1
== boss: the parameter session_authorization
login {"user": "boss", "session_authorization": "postgres"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |boss|boss|on|
< SELECT 1
== boss: the parameter log_statement
login {"user": "boss", "log_statement": "all"}
> SHOW log_statement
< |all|
< SHOW
== boss: two dashes
login {"user": "boss", "options": "--role=postgres"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |postgres|boss|on|
< SELECT 1
== boss: an isolation level
login {"user": "boss", "options": "-c transaction_isolation=serializable"}
> SHOW default_transaction_isolation
< |read committed|
< SHOW
== boss: a default isolation level
login {"user": "boss", "options": "-c default_transaction_isolation=serializable"}
> SHOW transaction_isolation
< |serializable|
< SHOW
== boss: changes in the session
login {"user": "boss", "options": "-c role=crew"}
> RESET ALL
< RESET
> SELECT current_user
< |crew|
< SELECT 1
> RESET ROLE
< RESET
> SELECT current_user
< |crew|
< SELECT 1
> SET ROLE NONE
< SET
> SELECT current_user
< |boss|
< SELECT 1
> RESET ROLE
< RESET
> DISCARD ALL
< DISCARD ALL
> SELECT current_user
< |crew|
< SELECT 1
== boss: SET
login {"user": "boss"}
> SET ROLE crew
< SET
> RESET ALL
< RESET
> SELECT current_user
< |crew|
< SELECT 1
> DISCARD ALL
< DISCARD ALL
> SELECT current_user
< |boss|
< SELECT 1
> SET log_connections = on
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
> SET ignore_system_indexes = off
< ERROR 55P02 parameter "ignore_system_indexes" cannot be set after connection start
> SET post_auth_delay = 0
< ERROR 55P02 parameter "post_auth_delay" cannot be set after connection start
> SET fsync = off
< ERROR 55P02 parameter "fsync" cannot be changed now
> SET max_connections = 7
< ERROR 55P02 parameter "max_connections" cannot be changed without restarting the server
> SET is_superuser = on
< ERROR 55P02 parameter "is_superuser" cannot be changed
> SET server_version = 1
< ERROR 55P02 parameter "server_version" cannot be changed
> SET log_statement = none
< SET
> SET session_authorization = boss
< SET
> SET session_authorization = postgres
< SET
> SET session_authorization = mallory
< SET
> SET role = boss
< ERROR 42501 permission denied to set role "boss"
> RESET log_statement
< ERROR 42501 permission denied to set parameter "log_statement"
> RESET log_connections
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
> RESET is_superuser
< ERROR 55P02 parameter "is_superuser" cannot be changed
> SET LOCAL log_statement = 'all'
< WARNING 25P01 SET LOCAL can only be used in transaction blocks
< ERROR 42501 permission denied to set parameter "log_statement"
> BEGIN; SET LOCAL log_statement = 'none'; COMMIT
< BEGIN
< ERROR 42501 permission denied to set parameter "log_statement"
> ROLLBACK
< ROLLBACK
> SELECT set_config('log_statement','none',false)
< ERROR 42501 permission denied to set parameter "log_statement"
> SELECT set_config('role','boss',false)
< ERROR 42501 permission denied to set role "boss"
> SELECT set_config('session_authorization','postgres',true)
< |postgres|
< SELECT 1
> SELECT set_config('is_superuser','on',true)
< ERROR 55P02 parameter "is_superuser" cannot be changed
> SELECT set_config('log_connections','on',true)
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
> SELECT current_user, session_user
< |mallory|mallory|
< SELECT 1
== what a role stores
sql ALTER ROLE mallory SET role TO crew
sql ALTER ROLE mallory SET log_statement TO 'none'
login {"user": "mallory"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |crew|mallory|off|
< SELECT 1
> SHOW log_statement
< |none|
< SHOW
> RESET ROLE
< RESET
> SELECT current_user
< |crew|
< SELECT 1
> SET ROLE NONE
< SET
> SELECT current_user
< |mallory|
< SELECT 1
== before what a role stores
login {"user": "mallory", "options": "-c role=mallory"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |mallory|mallory|off|
< SELECT 1
== a role that may not be taken
sql ALTER ROLE mallory SET role TO boss
login {"user": "mallory"}
< WARNING 42501 permission denied to set role "boss"
> SELECT current_user, session_user, current_setting('is_superuser')
< |mallory|mallory|off|
< SELECT 1
== a role that is not there
sql CREATE ROLE brief
sql ALTER ROLE mallory SET role TO brief
sql DROP ROLE brief
login {"user": "mallory"}
< WARNING 22023 role "brief" does not exist
> SELECT current_user, session_user, current_setting('is_superuser')
< |mallory|mallory|off|
< SELECT 1
== a role stores for itself
sql ALTER ROLE mallory RESET ALL
login {"user": "mallory"}
> ALTER ROLE mallory SET role TO boss
< NOTICE 42501 permission will be denied to set role "boss"
< ALTER ROLE
> ALTER ROLE mallory SET log_statement TO 'all'
< ERROR 42501 permission denied to set parameter "log_statement"
> ALTER ROLE mallory SET log_connections TO on
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
> ALTER ROLE mallory SET fsync TO off
< ERROR 55P02 parameter "fsync" cannot be changed now
> ALTER ROLE mallory SET work_mem TO 'banana'
< ERROR 22023 invalid value for parameter "work_mem": "banana"
> ALTER ROLE mallory SET work_mem TO '8MB'
< ALTER ROLE
> ALTER ROLE mallory SET my.custom TO 'x'
< ERROR 42501 permission denied to set parameter "my.custom"
> ALTER ROLE mallory SET nosuch TO 'x'
< ERROR 42704 unrecognized configuration parameter "nosuch"
> ALTER ROLE mallory SET role TO nosuch
< NOTICE 42704 role "nosuch" does not exist
< ALTER ROLE
> ALTER ROLE mallory SET is_superuser TO on
< ERROR 55P02 parameter "is_superuser" cannot be changed
> ALTER ROLE boss SET work_mem TO '8MB'
< ERROR 42501 permission denied to alter role
<   detail: Only roles with the SUPERUSER attribute may alter roles with the SUPERUSER attribute.
> ALTER DATABASE entry SET work_mem TO '8MB'
< ERROR 42501 must be owner of database entry
== and gets it
login {"user": "mallory"}
< WARNING 22023 role "nosuch" does not exist
> SELECT current_user, session_user, current_setting('is_superuser')
< |mallory|mallory|off|
< SELECT 1
> SHOW work_mem
< |8MB|
< SHOW
> ALTER ROLE mallory RESET log_statement
< ERROR 42501 permission denied to set parameter "log_statement"
> ALTER ROLE mallory RESET ALL
< ALTER ROLE
== nothing is left of it
login {"user": "mallory"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |mallory|mallory|off|
< SELECT 1
> SHOW work_mem
< |4MB|
< SHOW
== a superuser stores
login {"user": "boss"}
> ALTER ROLE mallory SET log_statement TO 'none'
< ALTER ROLE
> ALTER ROLE mallory SET my.custom TO 'x'
< ALTER ROLE
> ALTER ROLE mallory SET log_connections TO on
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
> ALTER ROLE mallory SET fsync TO off
< ERROR 55P02 parameter "fsync" cannot be changed now
== for another
login {"user": "mallory"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |mallory|mallory|off|
< SELECT 1
> SHOW log_statement
< |none|
< SHOW
> SHOW my.custom
< |x|
< SHOW
> SET log_statement = 'none'
< ERROR 42501 permission denied to set parameter "log_statement"
> RESET log_statement
< ERROR 42501 permission denied to set parameter "log_statement"
> ALTER ROLE mallory RESET log_statement
< ERROR 42501 permission denied to set parameter "log_statement"
> ALTER ROLE mallory RESET ALL
< ALTER ROLE
== no such role
login {"user": "nosuch"}
< FATAL 28000 role "nosuch" does not exist
> SELECT current_user, session_user, current_setting('is_superuser')
== a role that may not log in
login {"user": "crew"}
< FATAL 28000 role "crew" is not permitted to log in
> SELECT current_user, session_user, current_setting('is_superuser')
== no such role, and options
login {"user": "nosuch", "options": "-c role=postgres"}
< FATAL 28000 role "nosuch" does not exist
> SELECT current_user, session_user, current_setting('is_superuser')
== no user
login {"user": ""}
< FATAL 28000 no PostgreSQL user name specified in startup packet
> SELECT current_user, session_user, current_setting('is_superuser')
== functions with SECURITY DEFINER
sql CREATE FUNCTION definer(n text, v text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN set_config(n, v, false); END $$
sql CREATE FUNCTION invoker(n text, v text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN set_config(n, v, false); EXCEPTION WHEN insufficient_privilege THEN RETURN 'denied: ' || sqlerrm; END $$
login {"user": "mallory"}
> SELECT definer('log_statement','none')
< |none|
< SELECT 1
> SELECT definer('role','boss')
< ERROR 42501 cannot set parameter "role" within security-definer function
> SELECT definer('role','none')
< ERROR 42501 cannot set parameter "role" within security-definer function
> SELECT definer('session_authorization','postgres')
< ERROR 42501 cannot set parameter "session_authorization" within security-definer function
> SELECT definer('is_superuser','on')
< ERROR 55P02 parameter "is_superuser" cannot be changed
> SELECT definer('log_connections','on')
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
> SELECT invoker('log_statement','none')
< |denied: permission denied to set parameter "log_statement"|
< SELECT 1
> SELECT invoker('role','boss')
< |denied: permission denied to set role "boss"|
< SELECT 1
> SELECT invoker('session_authorization','postgres')
< |denied: permission denied to set session authorization "postgres"|
< SELECT 1
> SELECT current_user, session_user
< |mallory|mallory|
< SELECT 1
