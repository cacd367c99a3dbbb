package pgsqlite.junit;

import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** A session that runs statements and looks at no rows. The messages are those of PostgreSQL's manual, "Frontend/Backend Protocol". */
final class Session implements AutoCloseable {
    private static final int VERSION_3 = 196608;

    private final Socket socket;
    private final DataInputStream in;
    private final DataOutputStream out;

    /** Opens a session. {@code words} are names and values of the start-up packet, one after the other. */
    Session(int port, List<String> words) {
        try {
            socket = new Socket(InetAddress.getLoopbackAddress(), port);
            in = new DataInputStream(socket.getInputStream());
            out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            for (String word : words) {
                body.write(word.getBytes(StandardCharsets.UTF_8));
                body.write(0);
            }
            body.write(0);
            out.writeInt(8 + body.size());
            out.writeInt(VERSION_3);
            body.writeTo(out);
        } catch (IOException e) {
            throw new PgsqliteException("the server cannot be reached", e);
        }
        try {
            untilReady();
        } catch (PgsqliteException e) {
            close();
            throw e;
        }
    }

    void execute(String statements) {
        byte[] text = statements.getBytes(StandardCharsets.UTF_8);
        try {
            out.writeByte('Q');
            out.writeInt(text.length + 5);
            out.write(text);
            out.writeByte(0);
        } catch (IOException e) {
            throw new PgsqliteException("the server is gone", e);
        }
        untilReady();
    }

    /** Sends what is written, and reads until the server waits for more. The first error is thrown then. */
    private void untilReady() {
        String error = null;
        try {
            out.flush();
            while (true) {
                byte kind = in.readByte();
                byte[] body = in.readNBytes(in.readInt() - 4);
                if (kind == 'Z') {
                    break;
                }
                if (kind == 'E' && error == null) {
                    error = message(body);
                }
            }
        } catch (IOException e) {
            throw new PgsqliteException(error == null ? "the server is gone" : error, e);
        }
        if (error != null) {
            throw new PgsqliteException(error);
        }
    }

    /** Returns the text of an error, with its SQLSTATE. */
    private static String message(byte[] body) {
        String text = "";
        String state = "";
        for (String field : new String(body, StandardCharsets.UTF_8).split("\0")) {
            if (field.startsWith("M")) {
                text = field.substring(1);
            } else if (field.startsWith("C")) {
                state = field.substring(1);
            }
        }
        return state + ": " + text;
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            throw new PgsqliteException("the session cannot be closed", e);
        }
    }
}
