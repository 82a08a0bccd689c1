//! The bearer token.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;
use sha2::{Digest, Sha256};

use crate::error::{LONGEST, SHORTEST, ServeError, TokenError};

/// Permission of all users to read a file.
const READ_BY_ALL: u32 = 0o004;

/// SHA-256 of a token.
#[derive(Clone)]
pub struct Token([u8; 32]);

impl Token {
    /// Validates and hashes a token.
    ///
    /// # Errors
    ///
    /// When it is too short, too long, or no single printable word.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let found = text.len();
        match (SHORTEST..=LONGEST).contains(&found) {
            false => Err(TokenError::Length { found }),
            true if !text.bytes().all(|byte| byte.is_ascii_graphic()) => Err(TokenError::NotOneWord),
            true => Ok(Self(digest(text.as_bytes()))),
        }
    }

    /// Reads a token file, with or without trailing newline. It must belong to this user or root, and not be readable by
    /// all.
    ///
    /// # Errors
    ///
    /// When it contains no valid token, or is not secret.
    pub fn read(path: &Path) -> Result<Self, ServeError> {
        let unreadable = |source: io::Error| ServeError::Unreadable { path: path.to_owned(), source };
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if ![0, geteuid().as_raw()].contains(&metadata.uid()) {
            return Err(ServeError::ForeignOwner { path: path.to_owned(), uid: metadata.uid() });
        }
        if metadata.mode() & READ_BY_ALL != 0 {
            return Err(ServeError::ReadableByAll { path: path.to_owned() });
        }
        let mut text = String::new();
        file.take(2 * LONGEST as u64).read_to_string(&mut text).map_err(unreadable)?;
        Self::new(text.trim_end()).map_err(|reason| ServeError::NoToken { path: path.to_owned(), reason })
    }

    /// Constant-time comparison, by digests.
    pub(crate) fn is(&self, text: &[u8]) -> bool {
        let pairs = self.0.iter().zip(digest(text));
        pairs.fold(0, |different, (ours, theirs)| different | (ours ^ theirs)) == 0
    }
}

fn digest(text: &[u8]) -> [u8; 32] {
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn a_token_is_itself_and_nothing_else() {
        let token = Token::new("0123456789abcdef").unwrap();
        assert!(token.is(b"0123456789abcdef"));
        for wrong in ["", "0123456789abcde", "0123456789abcdeg", "0123456789abcdef0", "0123456789ABCDEF"] {
            assert!(!token.is(wrong.as_bytes()), "{wrong}");
        }
    }

    #[test]
    fn a_token_is_read_from_a_file_that_others_cannot_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |mode: u32, text: &str| {
            std::fs::write(file.path(), text).unwrap();
            file.as_file().set_permissions(Permissions::from_mode(mode)).unwrap();
            Token::read(file.path())
        };
        assert!(read(0o600, "0123456789abcdef\n").unwrap().is(b"0123456789abcdef"));
        assert!(matches!(read(0o644, "0123456789abcdef\n"), Err(ServeError::ReadableByAll { .. })));
        assert!(matches!(read(0o640, ""), Err(ServeError::NoToken { .. })));
        assert!(matches!(
            read(0o600, "0123456789abcdef\n0123456789abcdef\n"),
            Err(ServeError::NoToken { .. })
        ));
        assert!(matches!(Token::read(Path::new("/proc/none")), Err(ServeError::Unreadable { .. })));
        // Only root can give a file away.
        if chown(file.path(), Some(65_534), None).is_ok() {
            assert!(matches!(
                read(0o600, "0123456789abcdef\n"),
                Err(ServeError::ForeignOwner { uid: 65_534, .. })
            ));
        }
    }

    #[test]
    fn what_can_be_guessed_or_not_be_sent_is_no_token() {
        let refused = |text: &str| Token::new(text).err();
        assert_eq!(refused("short"), Some(TokenError::Length { found: 5 }));
        assert_eq!(refused(&"x".repeat(1_025)), Some(TokenError::Length { found: 1_025 }));
        for wrong in ["two words in a token", "a-token-with-ümläuts", "a token\r\nInjected: yes"] {
            assert_eq!(refused(wrong), Some(TokenError::NotOneWord), "{wrong}");
        }
    }
}
