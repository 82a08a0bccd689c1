//! The name of a function in an executable file, by its symbols.

use std::fs::File;

use object::{Object, ObjectSegment, ObjectSymbol, ReadCache, SymbolKind};

/// The function at an offset in a file; `None` without a symbol, or if the file is not executable.
pub(super) fn function_at(file: File, offset: u64) -> Option<String> {
    let read = ReadCache::new(file);
    let object = object::File::parse(&read).ok()?;
    let address = object.segments().find_map(|segment| {
        let (from, length) = segment.file_range();
        (from..from.saturating_add(length)).contains(&offset).then(|| segment.address() + (offset - from))
    })?;
    let contains = |symbol: &object::Symbol<'_, '_, &ReadCache<File>>| {
        let range = symbol.address()..symbol.address().saturating_add(symbol.size());
        symbol.kind() == SymbolKind::Text && range.contains(&address)
    };
    let symbol = object.symbols().find(contains).or_else(|| object.dynamic_symbols().find(contains))?;
    symbol.name().ok().map(demangle)
}

/// Demangles a symbol, and drops its version: `nanosleep@@GLIBC_2.17` is `nanosleep`.
fn demangle(name: &str) -> String {
    let name = name.split('@').next().unwrap_or(name);
    match rustc_demangle::try_demangle(name).ok().filter(|_| is_rust(name)) {
        Some(name) => format!("{name:#}"),
        None => demangle_cpp(name).unwrap_or_else(|| name.to_owned()),
    }
}

/// Legacy Rust symbols look like those of C++, except for the hash at their end: `17h`, sixteen digits and `E`.
///
/// Source: rustc, `compiler/rustc_symbol_mangling/src/legacy.rs`.
fn is_rust(name: &str) -> bool {
    let hash = name.split(".llvm.").next().and_then(|name| name.strip_suffix('E'));
    let hash = hash.and_then(|name| name.rsplit_once("17h")).map(|(_, hash)| hash);
    let is_hash = |hash: &str| hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
    name.starts_with("_R") || hash.is_some_and(is_hash)
}

/// The name of a C++ function without parameters and template arguments: `v8::base::Time::Now` of `_ZN2v84base4Time3NowEv`.
/// `None` where the symbol does not begin with names.
///
/// Source: Itanium C++ ABI, 5.1 "External Names (a.k.a. Mangling)".
fn demangle_cpp(symbol: &str) -> Option<String> {
    let encoding = symbol.strip_prefix("_Z")?;
    let (nested, is_nested) = match encoding.strip_prefix('N') {
        Some(nested) => (nested.trim_start_matches(['r', 'V', 'K', 'R', 'O']), true),
        None => (encoding, false),
    };
    let (mut rest, mut parts) = match nested.strip_prefix("St") {
        Some(rest) => (rest, vec!["std"]),
        None => (nested, Vec::new()),
    };
    let namespaces = parts.len();
    while let Some((part, behind)) = source_name(rest) {
        parts.push(if part.starts_with("_GLOBAL__N") { "(anonymous)" } else { part });
        rest = behind;
        if !is_nested && parts.len() > namespaces {
            break;
        }
    }
    (parts.len() > namespaces).then(|| parts.join("::"))
}

/// A name that follows its length.
fn source_name(text: &str) -> Option<(&str, &str)> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit())?;
    let length: usize = text.get(..digits)?.parse().ok()?;
    let name = text.get(digits..digits.checked_add(length)?)?;
    Some((name, &text[digits + length..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_is_told_as_its_author_knows_it() {
        for (symbol, name) in [
            ("nanosleep@@GLIBC_2.17", "nanosleep"),
            ("_ZN2v84base4Time3NowEv", "v8::base::Time::Now"),
            ("_ZNK2v88internal4Heap7CollectENS0_15AllocationSpaceE", "v8::internal::Heap::Collect"),
            ("_ZN4node12_GLOBAL__N_16ReaderE", "node::(anonymous)::Reader"),
            ("_ZN4mine6VectorIiE4pushEi", "mine::Vector"),
            ("_Z6handleRKSs", "handle"),
            ("_ZSt4sortIPiEvT_S1_", "std::sort"),
            ("_ZN3std6thread5sleep17h0123456789abcdefE", "std::thread::sleep"),
            ("_Z", "_Z"),
            ("_ZN999999999999999999999x", "_ZN999999999999999999999x"),
            ("runtime.usleep", "runtime.usleep"),
        ] {
            assert_eq!(demangle(symbol), name, "{symbol}");
        }
    }
}
