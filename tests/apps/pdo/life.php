<?php
// PDO and the pgsql extension: parameters, emulated and real; types, COPY, large objects, LISTEN, cursors, meta data, errors.
$host = getenv('PGHOST');
$port = getenv('PGPORT');
$name = getenv('PGDATABASE');
$options = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION];
$pdo = new PDO("pgsql:host=$host;port=$port;dbname=$name", 'postgres', 'unused', $options);

function said($what, ...$values)
{
    echo $what, ': ', json_encode($values, JSON_UNESCAPED_UNICODE | JSON_PARTIAL_OUTPUT_ON_ERROR), "\n";
}

function fails($what, $code)
{
    try {
        $code();
        said($what, 'no error');
    } catch (PDOException $e) {
        said($what, $e->getCode(), strtok($e->getMessage(), "\n"));
    }
}

$pdo->exec('CREATE TABLE t (id serial PRIMARY KEY, name text NOT NULL, amount numeric(10,2), ok boolean, raw bytea, tags int[], at timestamptz, extra jsonb, ratio float8)');
foreach ([true, false] as $emulated) {
    $pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, $emulated);
    $insert = $pdo->prepare('INSERT INTO t (name, amount, ok, raw, tags, at, extra, ratio) VALUES (:name, :amount, :ok, :raw, :tags, :at, :extra, :ratio) RETURNING id');
    $raw = "\0\1'\\\xff";
    $insert->bindValue('name', "it's \\ ö");
    $insert->bindValue('amount', '12.5');
    $insert->bindValue('ok', true, PDO::PARAM_BOOL);
    $insert->bindParam('raw', $raw, PDO::PARAM_LOB);
    $insert->bindValue('tags', '{1,NULL,3}');
    $insert->bindValue('at', '2024-02-03 04:05:06+00');
    $insert->bindValue('extra', '{"a": [1, 2]}');
    $insert->bindValue('ratio', 0.1);
    $insert->execute();
    said('id', $insert->fetchColumn(), $pdo->lastInsertId(), $pdo->lastInsertId('t_id_seq'));
    foreach ($pdo->query('SELECT * FROM t ORDER BY id') as $row) {
        $row = array_filter($row, 'is_string', ARRAY_FILTER_USE_KEY);
        $row['raw'] = bin2hex(stream_get_contents($row['raw']));
        said('row', $row);
    }
    $select = $pdo->prepare('SELECT id FROM t WHERE id = ? OR name = ? ORDER BY id');
    $select->execute([1, 'x']);
    said('found', $select->fetchAll(PDO::FETCH_COLUMN));
    $jsonb = $pdo->prepare('SELECT extra ?? :key AS has FROM t ORDER BY id LIMIT 1');
    $jsonb->execute(['key' => 'a']);
    said('has', $jsonb->fetchColumn());
}
$statement = $pdo->query('SELECT id, name, amount, ok, 1::int8 AS big FROM t');
foreach (range(0, 4) as $i) {
    $meta = $statement->getColumnMeta($i);
    said('meta', $meta['name'], $meta['native_type'], $meta['len'], $meta['precision'], $meta['pdo_type'], $meta['table'] ?? null);
}
$statement->closeCursor();
fails('not null', fn () => $pdo->exec('INSERT INTO t (name) VALUES (NULL)'));
fails('duplicate', fn () => $pdo->exec("INSERT INTO t (id, name) VALUES (1, 'x')"));
fails('type', fn () => $pdo->prepare('SELECT * FROM t WHERE id = ?')->execute(['x']));
$pdo->beginTransaction();
$pdo->exec("INSERT INTO t (name) VALUES ('gone')");
fails('division', fn () => $pdo->query('SELECT 1/0'));
fails('aborted', fn () => $pdo->query('SELECT 1'));
$pdo->rollBack();
said('count', $pdo->query('SELECT count(*) FROM t')->fetchColumn());
$pdo->beginTransaction();
$cursor = $pdo->prepare('SELECT generate_series(1, 5)', [PDO::ATTR_CURSOR => PDO::CURSOR_SCROLL]);
$cursor->execute();
said('cursor', $cursor->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_NEXT), $cursor->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_LAST), $cursor->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_ABS, 2), $cursor->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_PRIOR));
$cursor->closeCursor();
$lob = $pdo->pgsqlLOBCreate();
$stream = $pdo->pgsqlLOBOpen($lob, 'w');
fwrite($stream, str_repeat('large ', 1000));
$stream = null;
$stream = $pdo->pgsqlLOBOpen($lob, 'r');
said('large object', strlen(stream_get_contents($stream)), $pdo->pgsqlLOBUnlink($lob));
$stream = null;
$pdo->commit();
said('copied', $pdo->pgsqlCopyFromArray('t', ["7\tcopied\t1\tt", "8\tnull\t\\N\tf"], "\t", '\\\\N', 'id, name, amount, ok'), $pdo->pgsqlCopyToArray('t', '|', '-', 'id, name, amount, ok'));
$pdo->exec('LISTEN news');
$pdo->exec("NOTIFY news, 'hello'");
$notification = $pdo->pgsqlGetNotify(PDO::FETCH_ASSOC, 1000);
said('notified', $notification['message'], $notification['payload']);
said('attributes', substr($pdo->getAttribute(PDO::ATTR_SERVER_VERSION), 0, 2), $pdo->getAttribute(PDO::ATTR_DRIVER_NAME), $pdo->quote("a'b"));

$pg = pg_connect("host=$host port=$port dbname=$name user=postgres password=unused");
said('pg_meta_data', pg_meta_data($pg, 't'));
said('pg_convert', pg_convert($pg, 't', ['name' => "it's", 'amount' => '1.5', 'ok' => 't', 'id' => '5']));
said('pg_insert', pg_insert($pg, 't', ['id' => 50, 'name' => 'fifty', 'amount' => '50']) !== false, pg_update($pg, 't', ['name' => 'five'], ['id' => 50]), pg_select($pg, 't', ['id' => 50]), pg_delete($pg, 't', ['id' => 50]));
pg_prepare($pg, 'p', 'SELECT id, name FROM t WHERE id > $1 ORDER BY id');
$result = pg_execute($pg, 'p', [1]);
said('pg_execute', pg_num_rows($result), pg_field_name($result, 1), pg_field_type($result, 1), pg_field_prtlen($result, 0, 1), pg_fetch_all($result));
said('pg_copy', pg_copy_from($pg, 't', ["60\tsixty\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\n"]), count(pg_copy_to($pg, 't')));
pg_send_query($pg, 'SELECT 1; SELECT 2 AS two; SELECT nothing');
while ($result = pg_get_result($pg)) {
    said('sent', pg_result_status($result), pg_result_error_field($result, PGSQL_DIAG_SQLSTATE), pg_result_error_field($result, PGSQL_DIAG_MESSAGE_PRIMARY), pg_fetch_all($result));
}
said('escaped', pg_escape_literal($pg, "a\\'b"), pg_escape_identifier($pg, 'a"b'), bin2hex(pg_unescape_bytea(pg_escape_bytea($pg, "\0\xff"))));
said('parameter', pg_parameter_status($pg, 'client_encoding'), pg_parameter_status($pg, 'standard_conforming_strings'), pg_transaction_status($pg));
said('affected', pg_affected_rows(pg_query($pg, 'UPDATE t SET amount = 0')), pg_last_notice($pg));
pg_query($pg, 'DROP TABLE IF EXISTS nothing, t');
said('notice', pg_last_notice($pg));
