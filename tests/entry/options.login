# What a start-up packet may ask for: each setting by its context in pg_settings, by a superuser and by another role.
== roles
sql CREATE ROLE mallory LOGIN
sql CREATE ROLE boss LOGIN SUPERUSER
sql CREATE ROLE crew
sql GRANT crew TO mallory
== mallory: role=postgres
login {"user": "mallory", "options": "-c role=postgres"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 42501 permission denied to set role "postgres"
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
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 22023 role "nosuch" does not exist
== mallory: role=boss
login {"user": "mallory", "options": "-c role=boss"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 42501 permission denied to set role "boss"
== mallory: session_authorization=postgres
login {"user": "mallory", "options": "-c session_authorization=postgres"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 42501 permission denied to set session authorization "postgres"
== mallory: session_authorization=boss
login {"user": "mallory", "options": "-c session_authorization=boss"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 42501 permission denied to set session authorization "boss"
== mallory: session_authorization=mallory
login {"user": "mallory", "options": "-c session_authorization=mallory"}
> SELECT current_user, session_user, current_setting('is_superuser')
< |mallory|mallory|off|
< SELECT 1
== mallory: session_authorization=nosuch
login {"user": "mallory", "options": "-c session_authorization=nosuch"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 22023 role "nosuch" does not exist
== mallory: is_superuser=on
login {"user": "mallory", "options": "-c is_superuser=on"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 55P02 parameter "is_superuser" cannot be changed
== mallory: server_version=1
login {"user": "mallory", "options": "-c server_version=1"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 55P02 parameter "server_version" cannot be changed
== mallory: max_connections=7
login {"user": "mallory", "options": "-c max_connections=7"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 55P02 parameter "max_connections" cannot be changed without restarting the server
== mallory: fsync=off
login {"user": "mallory", "options": "-c fsync=off"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 55P02 parameter "fsync" cannot be changed now
== mallory: ROLE=postgres
login {"user": "mallory", "options": "-c ROLE=postgres"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 42501 permission denied to set role "postgres"
== mallory: Session_Authorization=postgres
login {"user": "mallory", "options": "-c Session_Authorization=postgres"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 42501 permission denied to set session authorization "postgres"
== mallory: nosuch=off
login {"user": "mallory", "options": "-c nosuch=off"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 42704 unrecognized configuration parameter "nosuch"
== mallory: work_mem=banana
login {"user": "mallory", "options": "-c work_mem=banana"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 22023 invalid value for parameter "work_mem": "banana"
== mallory: datestyle=banana
login {"user": "mallory", "options": "-c datestyle=banana"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 22023 invalid value for parameter "DateStyle": "banana"
<   detail: Unrecognized key word: "banana".
== mallory: row_security=maybe
login {"user": "mallory", "options": "-c row_security=maybe"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 22023 parameter "row_security" requires a Boolean value
== mallory: log_statement
login {"user": "mallory", "options": "-c log_statement=all"}
> SHOW log_statement
> RESET log_statement
> SHOW log_statement
< FATAL 42501 permission denied to set parameter "log_statement"
== mallory: session_replication_role
login {"user": "mallory", "options": "-c session_replication_role=origin"}
> SHOW session_replication_role
> RESET session_replication_role
> SHOW session_replication_role
< FATAL 42501 permission denied to set parameter "session_replication_role"
== mallory: log_connections
login {"user": "mallory", "options": "-c log_connections=on"}
> SHOW log_connections
> RESET log_connections
> SHOW log_connections
< FATAL 42501 permission denied to set parameter "log_connections"
== mallory: log_disconnections
login {"user": "mallory", "options": "-c log_disconnections=off"}
> SHOW log_disconnections
> RESET log_disconnections
> SHOW log_disconnections
< FATAL 42501 permission denied to set parameter "log_disconnections"
== mallory: ignore_system_indexes
login {"user": "mallory", "options": "-c ignore_system_indexes=off"}
> SHOW ignore_system_indexes
> RESET ignore_system_indexes
> SHOW ignore_system_indexes
< |off|
< SHOW
< ERROR 55P02 parameter "ignore_system_indexes" cannot be set after connection start
< |off|
< SHOW
== mallory: post_auth_delay
login {"user": "mallory", "options": "-c post_auth_delay=0"}
> SHOW post_auth_delay
> RESET post_auth_delay
> SHOW post_auth_delay
< |0|
< SHOW
< ERROR 55P02 parameter "post_auth_delay" cannot be set after connection start
< |0|
< SHOW
== mallory: zero_damaged_pages
login {"user": "mallory", "options": "-c zero_damaged_pages=off"}
> SHOW zero_damaged_pages
> RESET zero_damaged_pages
> SHOW zero_damaged_pages
< FATAL 42501 permission denied to set parameter "zero_damaged_pages"
== mallory: lo_compat_privileges
login {"user": "mallory", "options": "-c lo_compat_privileges=off"}
> SHOW lo_compat_privileges
> RESET lo_compat_privileges
> SHOW lo_compat_privileges
< FATAL 42501 permission denied to set parameter "lo_compat_privileges"
== mallory: my.custom
login {"user": "mallory", "options": "-c my.custom=x"}
> SHOW my.custom
> RESET my.custom
> SHOW my.custom
< |x|
< SHOW
< RESET
< |x|
< SHOW
== mallory: search_path
login {"user": "mallory", "options": "-c search_path=pg_catalog"}
> SHOW search_path
> RESET search_path
> SHOW search_path
< |pg_catalog|
< SHOW
< RESET
< |pg_catalog|
< SHOW
== mallory: DateStyle
login {"user": "mallory", "options": "-c DateStyle=german"}
> SHOW DateStyle
> RESET DateStyle
> SHOW DateStyle
< |German, DMY|
< SHOW
< RESET
< |German, DMY|
< SHOW
== mallory: work_mem
login {"user": "mallory", "options": "-c work_mem=8MB"}
> SHOW work_mem
> RESET work_mem
> SHOW work_mem
< |8MB|
< SHOW
< RESET
< |8MB|
< SHOW
== mallory: lc_messages
login {"user": "mallory", "options": "-c lc_messages=C"}
> SHOW lc_messages
> RESET lc_messages
> SHOW lc_messages
< FATAL 42501 permission denied to set parameter "lc_messages"
== mallory: track_functions
login {"user": "mallory", "options": "-c track_functions=none"}
> SHOW track_functions
> RESET track_functions
> SHOW track_functions
< FATAL 42501 permission denied to set parameter "track_functions"
== mallory: default_transaction_read_only
login {"user": "mallory", "options": "-c default_transaction_read_only=on"}
> SHOW default_transaction_read_only
> RESET default_transaction_read_only
> SHOW default_transaction_read_only
< |on|
< SHOW
< RESET
< |on|
< SHOW
== mallory: transaction_read_only
login {"user": "mallory", "options": "-c transaction_read_only=on"}
> SHOW transaction_read_only
> RESET transaction_read_only
> SHOW transaction_read_only
< |off|
< SHOW
< RESET
< |off|
< SHOW
== mallory: the parameter role
login {"user": "mallory", "role": "postgres"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 42501 permission denied to set role "postgres"
== mallory: the parameter session_authorization
login {"user": "mallory", "session_authorization": "postgres"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 42501 permission denied to set session authorization "postgres"
== mallory: the parameter log_statement
login {"user": "mallory", "log_statement": "all"}
> SHOW log_statement
< FATAL 42501 permission denied to set parameter "log_statement"
== mallory: two dashes
login {"user": "mallory", "options": "--role=postgres"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 42501 permission denied to set role "postgres"
== mallory: an isolation level
login {"user": "mallory", "options": "-c transaction_isolation=serializable"}
> SHOW transaction_isolation
< FATAL 25001 SET TRANSACTION ISOLATION LEVEL must be called before any query
== mallory: a default isolation level
login {"user": "mallory", "options": "-c default_transaction_isolation=serializable"}
> SHOW transaction_isolation
< |serializable|
< SHOW
== mallory: changes in the session
login {"user": "mallory", "options": "-c role=crew"}
> RESET ALL
> SELECT current_user
> RESET ROLE
> SELECT current_user
> SET ROLE NONE
> SELECT current_user
> RESET ROLE
> DISCARD ALL
> SELECT current_user
< RESET
< |crew|
< SELECT 1
< RESET
< |crew|
< SELECT 1
< SET
< |mallory|
< SELECT 1
< RESET
< DISCARD ALL
< |crew|
< SELECT 1
== mallory: SET
login {"user": "mallory"}
> SET ROLE crew
> RESET ALL
> SELECT current_user
> DISCARD ALL
> SELECT current_user
> SET log_connections = on
> SET ignore_system_indexes = off
> SET post_auth_delay = 0
> SET fsync = off
> SET max_connections = 7
> SET is_superuser = on
> SET server_version = 1
> SET log_statement = none
> SET session_authorization = boss
> SET session_authorization = postgres
> SET session_authorization = mallory
> SET role = boss
> RESET log_statement
> RESET log_connections
> RESET is_superuser
> SET LOCAL log_statement = 'all'
> BEGIN; SET LOCAL log_statement = 'none'; COMMIT
> ROLLBACK
> SELECT set_config('log_statement','none',false)
> SELECT set_config('role','boss',false)
> SELECT set_config('session_authorization','postgres',true)
> SELECT set_config('is_superuser','on',true)
> SELECT set_config('log_connections','on',true)
> SELECT current_user, session_user
< SET
< RESET
< |crew|
< SELECT 1
< DISCARD ALL
< |mallory|
< SELECT 1
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
< ERROR 55P02 parameter "ignore_system_indexes" cannot be set after connection start
< ERROR 55P02 parameter "post_auth_delay" cannot be set after connection start
< ERROR 55P02 parameter "fsync" cannot be changed now
< ERROR 55P02 parameter "max_connections" cannot be changed without restarting the server
< ERROR 55P02 parameter "is_superuser" cannot be changed
< ERROR 55P02 parameter "server_version" cannot be changed
< ERROR 42501 permission denied to set parameter "log_statement"
< ERROR 42501 permission denied to set session authorization "boss"
< ERROR 42501 permission denied to set session authorization "postgres"
< SET
< ERROR 42501 permission denied to set role "boss"
< ERROR 42501 permission denied to set parameter "log_statement"
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
< ERROR 55P02 parameter "is_superuser" cannot be changed
< WARNING 25P01 SET LOCAL can only be used in transaction blocks
< ERROR 42501 permission denied to set parameter "log_statement"
< BEGIN
< ERROR 42501 permission denied to set parameter "log_statement"
< ROLLBACK
< ERROR 42501 permission denied to set parameter "log_statement"
< ERROR 42501 permission denied to set role "boss"
< ERROR 42501 permission denied to set session authorization "postgres"
< ERROR 55P02 parameter "is_superuser" cannot be changed
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
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
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 22023 role "nosuch" does not exist
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
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 22023 role "nosuch" does not exist
== boss: is_superuser=on
login {"user": "boss", "options": "-c is_superuser=on"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 55P02 parameter "is_superuser" cannot be changed
== boss: server_version=1
login {"user": "boss", "options": "-c server_version=1"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 55P02 parameter "server_version" cannot be changed
== boss: max_connections=7
login {"user": "boss", "options": "-c max_connections=7"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 55P02 parameter "max_connections" cannot be changed without restarting the server
== boss: fsync=off
login {"user": "boss", "options": "-c fsync=off"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 55P02 parameter "fsync" cannot be changed now
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
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 42704 unrecognized configuration parameter "nosuch"
== boss: work_mem=banana
login {"user": "boss", "options": "-c work_mem=banana"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 22023 invalid value for parameter "work_mem": "banana"
== boss: datestyle=banana
login {"user": "boss", "options": "-c datestyle=banana"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 22023 invalid value for parameter "DateStyle": "banana"
<   detail: Unrecognized key word: "banana".
== boss: row_security=maybe
login {"user": "boss", "options": "-c row_security=maybe"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 22023 parameter "row_security" requires a Boolean value
== boss: log_statement
login {"user": "boss", "options": "-c log_statement=all"}
> SHOW log_statement
> RESET log_statement
> SHOW log_statement
< |all|
< SHOW
< RESET
< |all|
< SHOW
== boss: session_replication_role
login {"user": "boss", "options": "-c session_replication_role=origin"}
> SHOW session_replication_role
> RESET session_replication_role
> SHOW session_replication_role
< |origin|
< SHOW
< RESET
< |origin|
< SHOW
== boss: log_connections
login {"user": "boss", "options": "-c log_connections=on"}
> SHOW log_connections
> RESET log_connections
> SHOW log_connections
< |on|
< SHOW
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
< |on|
< SHOW
== boss: log_disconnections
login {"user": "boss", "options": "-c log_disconnections=off"}
> SHOW log_disconnections
> RESET log_disconnections
> SHOW log_disconnections
< |off|
< SHOW
< ERROR 55P02 parameter "log_disconnections" cannot be set after connection start
< |off|
< SHOW
== boss: ignore_system_indexes
login {"user": "boss", "options": "-c ignore_system_indexes=off"}
> SHOW ignore_system_indexes
> RESET ignore_system_indexes
> SHOW ignore_system_indexes
< |off|
< SHOW
< ERROR 55P02 parameter "ignore_system_indexes" cannot be set after connection start
< |off|
< SHOW
== boss: post_auth_delay
login {"user": "boss", "options": "-c post_auth_delay=0"}
> SHOW post_auth_delay
> RESET post_auth_delay
> SHOW post_auth_delay
< |0|
< SHOW
< ERROR 55P02 parameter "post_auth_delay" cannot be set after connection start
< |0|
< SHOW
== boss: zero_damaged_pages
login {"user": "boss", "options": "-c zero_damaged_pages=off"}
> SHOW zero_damaged_pages
> RESET zero_damaged_pages
> SHOW zero_damaged_pages
< |off|
< SHOW
< RESET
< |off|
< SHOW
== boss: lo_compat_privileges
login {"user": "boss", "options": "-c lo_compat_privileges=off"}
> SHOW lo_compat_privileges
> RESET lo_compat_privileges
> SHOW lo_compat_privileges
< |off|
< SHOW
< RESET
< |off|
< SHOW
== boss: my.custom
login {"user": "boss", "options": "-c my.custom=x"}
> SHOW my.custom
> RESET my.custom
> SHOW my.custom
< |x|
< SHOW
< RESET
< |x|
< SHOW
== boss: search_path
login {"user": "boss", "options": "-c search_path=pg_catalog"}
> SHOW search_path
> RESET search_path
> SHOW search_path
< |pg_catalog|
< SHOW
< RESET
< |pg_catalog|
< SHOW
== boss: DateStyle
login {"user": "boss", "options": "-c DateStyle=german"}
> SHOW DateStyle
> RESET DateStyle
> SHOW DateStyle
< |German, DMY|
< SHOW
< RESET
< |German, DMY|
< SHOW
== boss: work_mem
login {"user": "boss", "options": "-c work_mem=8MB"}
> SHOW work_mem
> RESET work_mem
> SHOW work_mem
< |8MB|
< SHOW
< RESET
< |8MB|
< SHOW
== boss: lc_messages
login {"user": "boss", "options": "-c lc_messages=C"}
> SHOW lc_messages
> RESET lc_messages
> SHOW lc_messages
< |C|
< SHOW
< RESET
< |C|
< SHOW
== boss: track_functions
login {"user": "boss", "options": "-c track_functions=none"}
> SHOW track_functions
> RESET track_functions
> SHOW track_functions
< |none|
< SHOW
< RESET
< |none|
< SHOW
== boss: default_transaction_read_only
login {"user": "boss", "options": "-c default_transaction_read_only=on"}
> SHOW default_transaction_read_only
> RESET default_transaction_read_only
> SHOW default_transaction_read_only
< |on|
< SHOW
< RESET
< |on|
< SHOW
== boss: transaction_read_only
login {"user": "boss", "options": "-c transaction_read_only=on"}
> SHOW transaction_read_only
> RESET transaction_read_only
> SHOW transaction_read_only
< |off|
< SHOW
< RESET
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
> SHOW transaction_isolation
< FATAL 25001 SET TRANSACTION ISOLATION LEVEL must be called before any query
== boss: a default isolation level
login {"user": "boss", "options": "-c default_transaction_isolation=serializable"}
> SHOW transaction_isolation
< |serializable|
< SHOW
== boss: changes in the session
login {"user": "boss", "options": "-c role=crew"}
> RESET ALL
> SELECT current_user
> RESET ROLE
> SELECT current_user
> SET ROLE NONE
> SELECT current_user
> RESET ROLE
> DISCARD ALL
> SELECT current_user
< RESET
< |crew|
< SELECT 1
< RESET
< |crew|
< SELECT 1
< SET
< |boss|
< SELECT 1
< RESET
< DISCARD ALL
< |crew|
< SELECT 1
== boss: SET
login {"user": "boss"}
> SET ROLE crew
> RESET ALL
> SELECT current_user
> DISCARD ALL
> SELECT current_user
> SET log_connections = on
> SET ignore_system_indexes = off
> SET post_auth_delay = 0
> SET fsync = off
> SET max_connections = 7
> SET is_superuser = on
> SET server_version = 1
> SET log_statement = none
> SET session_authorization = boss
> SET session_authorization = postgres
> SET session_authorization = mallory
> SET role = boss
> RESET log_statement
> RESET log_connections
> RESET is_superuser
> SET LOCAL log_statement = 'all'
> BEGIN; SET LOCAL log_statement = 'none'; COMMIT
> ROLLBACK
> SELECT set_config('log_statement','none',false)
> SELECT set_config('role','boss',false)
> SELECT set_config('session_authorization','postgres',true)
> SELECT set_config('is_superuser','on',true)
> SELECT set_config('log_connections','on',true)
> SELECT current_user, session_user
< SET
< RESET
< |crew|
< SELECT 1
< DISCARD ALL
< |boss|
< SELECT 1
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
< ERROR 55P02 parameter "ignore_system_indexes" cannot be set after connection start
< ERROR 55P02 parameter "post_auth_delay" cannot be set after connection start
< ERROR 55P02 parameter "fsync" cannot be changed now
< ERROR 55P02 parameter "max_connections" cannot be changed without restarting the server
< ERROR 55P02 parameter "is_superuser" cannot be changed
< ERROR 55P02 parameter "server_version" cannot be changed
< SET
< SET
< SET
< SET
< ERROR 42501 permission denied to set role "boss"
< ERROR 42501 permission denied to set parameter "log_statement"
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
< ERROR 55P02 parameter "is_superuser" cannot be changed
< WARNING 25P01 SET LOCAL can only be used in transaction blocks
< ERROR 42501 permission denied to set parameter "log_statement"
< BEGIN
< ERROR 42501 permission denied to set parameter "log_statement"
< ROLLBACK
< ERROR 42501 permission denied to set parameter "log_statement"
< ERROR 42501 permission denied to set role "boss"
< |postgres|
< SELECT 1
< ERROR 55P02 parameter "is_superuser" cannot be changed
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
< |mallory|mallory|
< SELECT 1
== what a role stores
sql ALTER ROLE mallory SET role TO crew
sql ALTER ROLE mallory SET log_statement TO 'none'
login {"user": "mallory"}
> SELECT current_user, session_user, current_setting('is_superuser')
> SHOW log_statement
> RESET ROLE
> SELECT current_user
> SET ROLE NONE
> SELECT current_user
< |crew|mallory|off|
< SELECT 1
< |none|
< SHOW
< RESET
< |crew|
< SELECT 1
< SET
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
> SELECT current_user, session_user, current_setting('is_superuser')
< WARNING 42501 permission denied to set role "boss"
< |mallory|mallory|off|
< SELECT 1
== a role that is not there
sql CREATE ROLE brief
sql ALTER ROLE mallory SET role TO brief
sql DROP ROLE brief
login {"user": "mallory"}
> SELECT current_user, session_user, current_setting('is_superuser')
< WARNING 22023 role "brief" does not exist
< |mallory|mallory|off|
< SELECT 1
== a role stores for itself
sql ALTER ROLE mallory RESET ALL
login {"user": "mallory"}
> ALTER ROLE mallory SET role TO boss
> ALTER ROLE mallory SET log_statement TO 'all'
> ALTER ROLE mallory SET log_connections TO on
> ALTER ROLE mallory SET fsync TO off
> ALTER ROLE mallory SET work_mem TO 'banana'
> ALTER ROLE mallory SET work_mem TO '8MB'
> ALTER ROLE mallory SET my.custom TO 'x'
> ALTER ROLE mallory SET nosuch TO 'x'
> ALTER ROLE mallory SET role TO nosuch
> ALTER ROLE mallory SET is_superuser TO on
> ALTER ROLE boss SET work_mem TO '8MB'
> ALTER DATABASE entry SET work_mem TO '8MB'
< NOTICE 42501 permission will be denied to set role "boss"
< ALTER ROLE
< ERROR 42501 permission denied to set parameter "log_statement"
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
< ERROR 55P02 parameter "fsync" cannot be changed now
< ERROR 22023 invalid value for parameter "work_mem": "banana"
< ALTER ROLE
< ERROR 42501 permission denied to set parameter "my.custom"
< ERROR 42704 unrecognized configuration parameter "nosuch"
< NOTICE 42704 role "nosuch" does not exist
< ALTER ROLE
< ERROR 55P02 parameter "is_superuser" cannot be changed
< ERROR 42501 must be superuser to alter superusers
< ERROR 42501 must be owner of database entry
== and gets it
login {"user": "mallory"}
> SELECT current_user, session_user, current_setting('is_superuser')
> SHOW work_mem
> ALTER ROLE mallory RESET log_statement
> ALTER ROLE mallory RESET ALL
< WARNING 22023 role "nosuch" does not exist
< |mallory|mallory|off|
< SELECT 1
< |8MB|
< SHOW
< ERROR 42501 permission denied to set parameter "log_statement"
< ALTER ROLE
== nothing is left of it
login {"user": "mallory"}
> SELECT current_user, session_user, current_setting('is_superuser')
> SHOW work_mem
< |mallory|mallory|off|
< SELECT 1
< |4MB|
< SHOW
== a superuser stores
login {"user": "boss"}
> ALTER ROLE mallory SET log_statement TO 'none'
> ALTER ROLE mallory SET my.custom TO 'x'
> ALTER ROLE mallory SET log_connections TO on
> ALTER ROLE mallory SET fsync TO off
< ALTER ROLE
< ALTER ROLE
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
< ERROR 55P02 parameter "fsync" cannot be changed now
== for another
login {"user": "mallory"}
> SELECT current_user, session_user, current_setting('is_superuser')
> SHOW log_statement
> SHOW my.custom
> SET log_statement = 'none'
> RESET log_statement
> ALTER ROLE mallory RESET log_statement
> ALTER ROLE mallory RESET ALL
< |mallory|mallory|off|
< SELECT 1
< |none|
< SHOW
< |x|
< SHOW
< ERROR 42501 permission denied to set parameter "log_statement"
< ERROR 42501 permission denied to set parameter "log_statement"
< ERROR 42501 permission denied to set parameter "log_statement"
< ALTER ROLE
== no such role
login {"user": "nosuch"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 28000 role "nosuch" does not exist
== a role that may not log in
login {"user": "crew"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 28000 role "crew" is not permitted to log in
== no such role, and options
login {"user": "nosuch", "options": "-c role=postgres"}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 28000 role "nosuch" does not exist
== no user
login {"user": ""}
> SELECT current_user, session_user, current_setting('is_superuser')
< FATAL 28000 no PostgreSQL user name specified in startup packet
== functions with SECURITY DEFINER
sql CREATE FUNCTION definer(n text, v text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN set_config(n, v, false); END $$
sql CREATE FUNCTION invoker(n text, v text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN set_config(n, v, false); EXCEPTION WHEN insufficient_privilege THEN RETURN 'denied: ' || sqlerrm; END $$
login {"user": "mallory"}
> SELECT definer('log_statement','none')
> SELECT definer('role','boss')
> SELECT definer('role','none')
> SELECT definer('session_authorization','postgres')
> SELECT definer('is_superuser','on')
> SELECT definer('log_connections','on')
> SELECT invoker('log_statement','none')
> SELECT invoker('role','boss')
> SELECT invoker('session_authorization','postgres')
> SELECT current_user, session_user
< |none|
< SELECT 1
< ERROR 42501 cannot set parameter "role" within security-definer function
< ERROR 42501 cannot set parameter "role" within security-definer function
< ERROR 42501 cannot set parameter "session_authorization" within security-definer function
< ERROR 55P02 parameter "is_superuser" cannot be changed
< ERROR 55P02 parameter "log_connections" cannot be set after connection start
< |denied: permission denied to set parameter "log_statement"|
< SELECT 1
< |denied: permission denied to set role "boss"|
< SELECT 1
< |denied: permission denied to set session authorization "postgres"|
< SELECT 1
< |mallory|mallory|
< SELECT 1
