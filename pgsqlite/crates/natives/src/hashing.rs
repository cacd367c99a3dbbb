//! Digests of bytes that may be many: in pieces, with a look at requests between them.

use pgsqlite_types::work;
use pgsqlite_types::Result;
use sha2::Digest;

/// Adds bytes to what is digested. Errors: that of the request that the statement ends.
pub fn update<D: Digest>(digest: &mut D, bytes: &[u8]) -> Result<()> {
    for piece in bytes.chunks(work::PIECE) {
        work::tick(piece.len())?;
        digest.update(piece);
    }
    Ok(())
}

/// The digest of parts, one behind the other. Errors: as of [`update`].
pub fn digest_of<D: Digest>(parts: &[&[u8]]) -> Result<Vec<u8>> {
    let mut digest = D::new();
    for part in parts {
        work::tick(1)?;
        update(&mut digest, part)?;
    }
    Ok(digest.finalize().to_vec())
}
