//! Addresses of files, and files within addresses.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// A file's name as an address relative to the folder of the text that links it.
pub(crate) fn address(name: &OsStr) -> String {
    encoded(name.as_bytes(), b"-_.~")
}

/// CSV as an address that the browser saves without asking anyone for it.
pub(crate) fn data_uri(csv: &str) -> String {
    format!("data:text/csv;charset=utf-8,{}", encoded(csv.as_bytes(), b"-_.,:;()/!~*'@+="))
}

/// Letters, digits and `plain` stay as they are.
fn encoded(bytes: &[u8], plain: &[u8]) -> String {
    let one = |byte: &u8| match byte {
        byte if byte.is_ascii_alphanumeric() || plain.contains(byte) => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    bytes.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_holds_nothing_that_ends_it() {
        assert_eq!(data_uri("a µs,\"b\"\n1#2"), "data:text/csv;charset=utf-8,a%20%C2%B5s,%22b%22%0A1%232");
        assert_eq!(address(OsStr::new("a (b)/µ.svg")), "a%20%28b%29%2F%C2%B5.svg");
    }
}
