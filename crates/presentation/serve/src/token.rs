//! The token that a client must know.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;
use sha2::{Digest, Sha256};

use crate::error::{LONGEST, NoToken, SHORTEST, ServeError};

/// The right of every user to read a file.
const READ_BY_ALL: u32 = 0o004;

/// A token, kept as its digest alone.
#[derive(Clone)]
pub struct Token([u8; 32]);

impl Token {
    /// The token that `text` is.
    ///
    /// # Errors
    ///
    /// When it is too short, too long, or cannot stand in a header.
    pub fn new(text: &str) -> Result<Self, NoToken> {
        let found = text.len();
        match (SHORTEST..=LONGEST).contains(&found) {
            false => Err(NoToken::Length { found }),
            true if !text.bytes().all(|byte| byte.is_ascii_graphic()) => Err(NoToken::NotOneWord),
            true => Ok(Self(digest(text.as_bytes()))),
        }
    }

    /// The token that a file holds, with or without an end of line; it is this user's or root's, and not every user may read it.
    ///
    /// # Errors
    ///
    /// When there is none in it, or none that is a secret.
    pub fn read(path: &Path) -> Result<Self, ServeError> {
        let unreadable = |source: io::Error| ServeError::Unreadable { path: path.to_owned(), source };
        let file = File::open(path).map_err(unreadable)?;
        let found = file.metadata().map_err(unreadable)?;
        if ![0, geteuid().as_raw()].contains(&found.uid()) {
            return Err(ServeError::Theirs { path: path.to_owned(), uid: found.uid() });
        }
        if found.mode() & READ_BY_ALL != 0 {
            return Err(ServeError::Known { path: path.to_owned() });
        }
        let mut text = String::new();
        file.take(2 * LONGEST as u64).read_to_string(&mut text).map_err(unreadable)?;
        Self::new(text.trim_end()).map_err(|reason| ServeError::NoToken { path: path.to_owned(), reason })
    }

    /// Whether `offered` is this token. It takes as long whatever is wrong with it: digests are compared, and all of them.
    pub(crate) fn is(&self, offered: &[u8]) -> bool {
        let pairs = self.0.iter().zip(digest(offered));
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
        assert!(matches!(read(0o644, "0123456789abcdef\n"), Err(ServeError::Known { .. })));
        assert!(matches!(read(0o640, ""), Err(ServeError::NoToken { .. })));
        assert!(matches!(
            read(0o600, "0123456789abcdef\n0123456789abcdef\n"),
            Err(ServeError::NoToken { .. })
        ));
        assert!(matches!(Token::read(Path::new("/proc/none")), Err(ServeError::Unreadable { .. })));
        // Only root can give a file away.
        if chown(file.path(), Some(65_534), None).is_ok() {
            assert!(matches!(read(0o600, "0123456789abcdef\n"), Err(ServeError::Theirs { uid: 65_534, .. })));
        }
    }

    #[test]
    fn what_can_be_guessed_or_not_be_sent_is_no_token() {
        let refused = |text: &str| Token::new(text).err();
        assert_eq!(refused("short"), Some(NoToken::Length { found: 5 }));
        assert_eq!(refused(&"x".repeat(1_025)), Some(NoToken::Length { found: 1_025 }));
        for wrong in ["two words in a token", "a-token-with-ümläuts", "a token\r\nInjected: yes"] {
            assert_eq!(refused(wrong), Some(NoToken::NotOneWord), "{wrong}");
        }
    }
}
