//! The files that the options of the connection name: read, and said of which cannot be used, and why.

use std::path::Path;

use reqwest::Identity;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};

use super::innermost;
use crate::cli::failure::Failure;
use crate::files::{self, Unfit, pair};

/// A certificate with its private key.
pub(super) fn identity(certificate: &Path, key: &Path) -> Result<Identity, Failure> {
    let (chain, private) = (read(certificate, "cert-file")?, read(key, "key-file")?);
    pair(&chain, &private, certificate).map_err(|unfit| match unfit {
        Unfit::Certificate(why) => unusable(certificate, &why),
        Unfit::Key(why) => unusable(key, &why),
    })?;
    let identity = Identity::from_pem(&[private, b"\n".to_vec(), chain].concat());
    identity.map_err(|error| unusable(certificate, &innermost(&error)))
}

/// The header that shows the token in a file.
pub(super) fn authorization(path: &Path) -> Result<HeaderMap, Failure> {
    let token = read(path, "token-file")?;
    let token = files::token(&token)
        .map_err(|wanted| unusable(path, &format!("it holds no token: {wanted}")))?;
    let value = [b"Bearer ", token].concat();
    let mut value = HeaderValue::from_bytes(&value).map_err(|error| unusable(path, &error))?;
    value.set_sensitive(true);
    Ok(HeaderMap::from_iter([(AUTHORIZATION, value)]))
}

/// What is in a file that an option names; its variable, which may have named it as well, is written after it.
pub(super) fn read(path: &Path, option: &str) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| {
        let variable = option.to_uppercase().replace('-', "_");
        Failure::Other(format!(
            "{}, which `--{option}` or EDDY_API_{variable} names, cannot be read: {error}",
            path.display()
        ))
    })
}

pub(super) fn unusable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Other(format!("{} cannot be used: {error}", path.display()))
}
