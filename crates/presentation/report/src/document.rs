//! HTML documents: the frame with its content security policy, and percent-encoded links.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use howlate_render::legible_lines;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

/// A complete HTML document with inlined style and script.
pub(crate) fn document(title: &str, (style, script): (&str, &str), main: &Markup) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy(style, script));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content="howlate";
                title { (title) }
                link rel="icon" href="data:,";
                style { (PreEscaped(style)) }
            }
            body {
                main { (main) }
                script { (PreEscaped(script)) }
            }
        }
    };
    legible_lines(&document.into_string()).into_owned()
}

/// The content security policy of a page with this style and this script.
///
/// Source: <https://www.w3.org/TR/CSP3/#match-element-to-source-list>
pub(crate) fn policy(style: &str, script: &str) -> String {
    format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        digest(style),
        digest(script)
    )
}

fn digest(text: &str) -> String {
    format!("sha256-{}", BASE64.encode(Sha256::digest(text.as_bytes())))
}

/// Percent-encoded file name, as a link relative to the Markdown file.
pub(crate) fn address(name: &OsStr) -> String {
    encoded(name.as_bytes(), b"-_.~")
}

/// CSV as a `data:` URI, which the browser saves without a network request.
pub(crate) fn data_uri(csv: &str) -> String {
    format!("data:text/csv;charset=utf-8,{}", encoded(csv.as_bytes(), b"-_.,:;()/!~*'@+="))
}

/// Percent-encoding of all bytes but letters, digits and `plain`.
fn encoded(bytes: &[u8], plain: &[u8]) -> String {
    let encode = |byte: &u8| match byte {
        byte if byte.is_ascii_alphanumeric() || plain.contains(byte) => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    bytes.iter().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_the_standard() {
        // Oracle: printf "alert('Hello, world.');" | openssl dgst -sha256 -binary | base64
        assert_eq!(digest("alert('Hello, world.');"), "sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng=");
    }

    #[test]
    fn an_address_holds_nothing_that_ends_it() {
        assert_eq!(data_uri("a µs,\"b\"\n1#2"), "data:text/csv;charset=utf-8,a%20%C2%B5s,%22b%22%0A1%232");
        assert_eq!(address(OsStr::new("a (b)/µ.svg")), "a%20%28b%29%2F%C2%B5.svg");
    }
}
