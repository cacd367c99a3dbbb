//! Names in certificates of clients.

use x509_parser::prelude::{FromDer, X509Certificate};

/// The common name of a certificate's subject: whom `cert` and `clientcert=verify-full` take its owner for. None: it has none, or one that is
/// no text, is empty, or has a NUL in it (behind which a careless authority may have let somebody write).
pub fn common_name(certificate: &[u8]) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let name = certificate.subject().iter_common_name().next()?.as_str().ok()?;
    (!name.is_empty() && !name.contains('\0')).then(|| name.to_string())
}
