# DBD::Pg: binding, types, catalogs, COPY, large objects, asynchronous queries, notifications, savepoints, errors.
use strict;
use warnings;
use DBI;
use DBD::Pg qw(:pg_types :async);

$| = 1;
my $dbh = DBI->connect("dbi:Pg:dbname=$ENV{PGDATABASE};host=$ENV{PGHOST};port=$ENV{PGPORT}", 'postgres', 'unused', { RaiseError => 1, PrintError => 0, PrintWarn => 0, AutoCommit => 1 });

sub said {
    my ($what, @values) = @_;
    print "$what: ", join(', ', map { !defined $_ ? 'undef' : ref $_ eq 'ARRAY' ? '[' . join(' ', map { defined $_ ? $_ : 'undef' } @$_) . ']' : $_ } @values), "\n";
}

sub fails {
    my ($what, $code) = @_;
    eval { $code->(); 1 } and return said($what, 'no error');
    my ($first) = split /\n/, $dbh->errstr;
    said($what, $dbh->state, $first);
}

$dbh->do(q{CREATE TABLE t (id serial PRIMARY KEY, name text NOT NULL, amount numeric(10,2) DEFAULT 0 CHECK (amount >= 0), tags text[], raw bytea, ok boolean, at timestamptz, extra jsonb)});
$dbh->do(q{CREATE TABLE u (id int PRIMARY KEY, t_id int REFERENCES t ON DELETE CASCADE)});
my $sth = $dbh->prepare(q{INSERT INTO t (name, amount, tags, raw, ok, at, extra) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id});
$sth->bind_param(4, undef, { pg_type => PG_BYTEA });
for my $n (1 .. 4) {
    $sth->execute("name $n", $n * 1.5, [ "a$n", undef, 'with "quotes"' ], join('', map { chr } 0, 1, 39, 92, 255, $n), $n % 2, '2024-02-03 04:05:06+00', qq({"n": $n}));
    said('inserted', $sth->fetchrow_array, $sth->rows);
}
for my $row (@{ $dbh->selectall_arrayref('SELECT id, name, amount, tags, raw, ok, extra FROM t ORDER BY id') }) {
    $row->[4] = unpack 'H*', $row->[4];
    said('row', @$row);
}
said('named', $dbh->selectrow_array('SELECT name FROM t WHERE id = $1 AND amount > $2', undef, 2, '1'));
$sth = $dbh->prepare('SELECT name FROM t WHERE id = :id OR name = :name ORDER BY 1');
$sth->bind_param(':id', 1);
$sth->bind_param(':name', 'name 3');
$sth->execute;
said('placeholders', map { $_->[0] } @{ $sth->fetchall_arrayref });
said('any', map { $_->[0] } @{ $dbh->selectall_arrayref('SELECT id FROM t WHERE id = ANY(?) ORDER BY 1', undef, [ 1, 3, 9 ]) });
$sth = $dbh->prepare('SELECT id, name, amount, at, tags FROM t');
$sth->execute;
said('columns', @{ $sth->{NAME} });
said('types', @{ $sth->{pg_type} });
said('precision', $sth->{PRECISION}, $sth->{SCALE}, $sth->{NULLABLE});
$sth->finish;
said('quoted', $dbh->quote("it's \\ here"), $dbh->quote_identifier('a "b"'), $dbh->quote([ 1, 'x y', undef ]));
said('changed', $dbh->do('UPDATE t SET amount = amount + 1 WHERE id > ?', undef, 2), $dbh->do('DELETE FROM t WHERE id = 99'));
said('last id', $dbh->last_insert_id(undef, undef, 't', undef));
said('tables', map { s/"//gr } $dbh->tables(undef, 'public', '%', 'TABLE'));
said('column info', map { "$_->{COLUMN_NAME}/$_->{TYPE_NAME}/$_->{NULLABLE}/" . ($_->{COLUMN_DEF} // '') } @{ $dbh->column_info(undef, 'public', 't', '%')->fetchall_arrayref({}) });
said('primary key', $dbh->primary_key(undef, 'public', 't'));
said('foreign keys', map { "$_->{FK_NAME} $_->{UK_TABLE_NAME} $_->{DELETE_RULE}" } @{ $dbh->foreign_key_info(undef, undef, undef, undef, 'public', 'u')->fetchall_arrayref({}) });
said('indexes', map { join '/', map { $_ // '' } @$_{qw(TABLE_NAME NON_UNIQUE INDEX_NAME TYPE COLUMN_NAME)} } grep { $_->{TYPE} ne 'table' } @{ $dbh->statistics_info(undef, 'public', 't', 0, 0)->fetchall_arrayref({}) });
fails('duplicate', sub { $dbh->do(q{INSERT INTO t (id, name) VALUES (1, 'x')}) });
fails('check', sub { $dbh->do(q{INSERT INTO t (name, amount) VALUES ('x', -1)}) });
fails('not null', sub { $dbh->do(q{INSERT INTO t (name) VALUES (NULL)}) });
fails('foreign key', sub { $dbh->do(q{INSERT INTO u VALUES (1, 99)}) });
fails('syntax', sub { $dbh->do('SELEC 1') });
said('field', map { $dbh->pg_error_field($_) } qw(severity state message_primary statement_position));
$dbh->begin_work;
$dbh->do(q{INSERT INTO u VALUES (1, 1)});
$dbh->pg_savepoint('here');
fails('in transaction', sub { $dbh->do('SELECT 1/0') });
said('ping', $dbh->ping, $dbh->state);
$dbh->pg_rollback_to('here');
$dbh->do(q{INSERT INTO u VALUES (2, 2)});
$dbh->commit;
said('kept', map { $_->[0] } @{ $dbh->selectall_arrayref('SELECT id FROM u ORDER BY 1') });
$dbh->do('COPY t (name, amount) FROM STDIN');
$dbh->pg_putcopydata("copied\t7\n");
$dbh->pg_putcopydata("tab\\t\\\\\t8.25\n");
$dbh->pg_putcopyend;
$dbh->do('COPY (SELECT name, amount FROM t ORDER BY id) TO STDOUT');
my $line;
while ($dbh->pg_getcopydata($line) >= 0) { chomp $line; said('copied', $line) }
$dbh->begin_work;
my $lob = $dbh->pg_lo_creat($dbh->{pg_INV_WRITE} | $dbh->{pg_INV_READ});
my $fd = $dbh->pg_lo_open($lob, $dbh->{pg_INV_WRITE} | $dbh->{pg_INV_READ});
my $bytes = join('', map { chr } 0 .. 255) x 20;
said('written', $dbh->pg_lo_write($fd, $bytes, length $bytes), $dbh->pg_lo_lseek($fd, 100, 0), $dbh->pg_lo_tell($fd));
my $buffer = '';
said('read', $dbh->pg_lo_read($fd, $buffer, 5), unpack 'H*', $buffer);
$dbh->pg_lo_close($fd);
said('unlinked', $dbh->pg_lo_unlink($lob) ? 'yes' : 'no');
$dbh->commit;
$dbh->do('SELECT pg_sleep(0.1), 42', { pg_async => PG_ASYNC });
said('asynchronous', $dbh->pg_result);
$sth = $dbh->prepare('SELECT generate_series(1, 3)', { pg_async => PG_ASYNC });
$sth->execute;
$sth->pg_result;
said('rows', map { $_->[0] } @{ $sth->fetchall_arrayref });
$dbh->do('LISTEN news');
$dbh->do(q{NOTIFY news, 'hello'});
my $notification = $dbh->pg_notifies;
said('notified', $notification->[0], $notification->[2]);
$dbh->begin_work;
$dbh->do('DECLARE c SCROLL CURSOR FOR SELECT id FROM t ORDER BY id');
said('cursor', map { $dbh->selectrow_array("FETCH $_ FROM c") } 'NEXT', 'LAST', 'PRIOR', 'FIRST', 'ABSOLUTE 3');
$dbh->rollback;
my @warnings;
local $SIG{__WARN__} = sub { push @warnings, $_[0] =~ s/ at .*//sr };
$dbh->{PrintWarn} = 1;
$dbh->do(q{DO $$ BEGIN RAISE NOTICE 'noticed %', 7; END $$});
said('notices', map { s/\s+$//r } @warnings);
said('tuples', $dbh->do(q{WITH d AS (DELETE FROM t WHERE id > 4 RETURNING *) SELECT * FROM d}));
$dbh->do('DROP TABLE u, t');
$dbh->disconnect;
