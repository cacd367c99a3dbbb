# (Quartz finds the classes of its jobs by name)
set -e
javac -d "$APP_SCRATCH" Life.java
CLASSPATH="$APP_SCRATCH:$CLASSPATH" exec java Life
