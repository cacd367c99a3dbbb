# Names of start-up packets that are too long, and bytes that are no characters.
== roles
sql CREATE ROLE uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu LOGIN
sql CREATE ROLE "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü" LOGIN
== a name of 70 bytes
login {"user": "uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu"}
> SELECT current_user, session_user, current_setting('application_name')
< |uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu|uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu||
< SELECT 1
== a name of 63 bytes
login {"user": "uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu"}
> SELECT current_user, session_user, current_setting('application_name')
< |uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu|uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu||
< SELECT 1
== a name of 62 bytes that nobody has
login {"user": "uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu"}
< FATAL 28000 role "uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu" does not exist
> SELECT current_user, session_user, current_setting('application_name')
== a name that is cut in a character
login {"user": "\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc"}
< FATAL 28000 role "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü\xc3" does not exist
> SELECT current_user, session_user, current_setting('application_name')
== a name that ends before the place of the cut
login {"user": "\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc"}
> SELECT current_user, session_user, current_setting('application_name')
< |üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü|üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü||
< SELECT 1
== a name of bytes that are no characters
login {"user": "\udcff\udcfe"}
< FATAL 28000 role "\xff\xfe" does not exist
> SELECT current_user, session_user, current_setting('application_name')
== a name with a byte in it that is no character
login {"user": "a\udce9\u00fc"}
< FATAL 28000 role "a\xe9ü" does not exist
> SELECT current_user, session_user, current_setting('application_name')
== an application's name in another encoding
login {"user": "postgres", "application_name": "caf\udce9"}
> SELECT current_user, session_user, current_setting('application_name')
< |postgres|postgres|caf\xe9|
< SELECT 1
== an application's name in UTF-8
login {"user": "postgres", "application_name": "h\u00e4llo \u20ac"}
> SELECT current_user, session_user, current_setting('application_name')
< |postgres|postgres|h\xc3\xa4llo \xe2\x82\xac|
< SELECT 1
== an application's name with control characters
login {"user": "postgres", "application_name": "a\tb\u007f\n"}
> SELECT current_user, session_user, current_setting('application_name')
< |postgres|postgres|a\x09b\x7f\x0a|
< SELECT 1
== a database's name of bytes that are no characters
login {"user": "postgres", "database": "\udcff"}
< FATAL 3D000 database "\xff" does not exist
> SELECT current_user, session_user, current_setting('application_name')
