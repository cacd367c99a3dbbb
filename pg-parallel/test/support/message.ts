/** A message of the server as it is sent: its type, its length, and its content (a text in UTF-8). */
export function message(type: string, content: string | Buffer = ''): Buffer {
  const body = Buffer.from(content)
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(4 + body.length, 1)
  return Buffer.concat([head, body])
}
