//! The howlate that runs inside the guest: one program with everything it needs to start.

use std::path::{Path, PathBuf};

use elf::ElfBytes;
use elf::abi::{DT_SONAME, EM_AARCH64, EM_X86_64, PT_INTERP};
use elf::endian::AnyEndian;
use elf::file::Class;
use howlate_linux::helper::THIS_PROGRAM;

use crate::{Architecture, GuestError};

/// A program, with the dynamic loader and the libraries it is linked with.
pub struct GuestProgram {
    pub(crate) executable: Vec<u8>,
    /// Where in the guest, and what.
    pub(crate) libraries: Vec<(String, Vec<u8>)>,
}

impl GuestProgram {
    /// This program, as it runs now, with the libraries mapped into it: what is measured in
    /// the guest is what is measured outside.
    ///
    /// # Errors
    ///
    /// When one of the files cannot be read.
    pub fn running() -> Result<Self, GuestError> {
        let own = PathBuf::from(THIS_PROGRAM);
        let executable = read(&own)?;
        let mut libraries = Vec::new();
        if let Some(loader) = parse(&executable, &own)?.loader {
            libraries.push((loader.clone(), read(Path::new(&loader))?));
            for path in mapped_libraries() {
                let content = read(&path)?;
                let name = parse(&content, &path)?.shared_name;
                let name = name.map_or_else(|| path.clone(), |name| path.with_file_name(name));
                libraries.push((name.display().to_string(), content));
            }
        }
        Ok(Self { executable: without_sections(executable), libraries })
    }

    /// A static program from a file, for a guest of another architecture.
    ///
    /// # Errors
    ///
    /// When it is not one for `architecture`, or needs libraries.
    pub fn from_file(path: &Path, architecture: Architecture) -> Result<Self, GuestError> {
        let executable = read(path)?;
        let parsed = parse(&executable, path)?;
        let machine = match architecture {
            Architecture::X86_64 => EM_X86_64,
            Architecture::Aarch64 => EM_AARCH64,
        };
        let wrong =
            |found: String| GuestError::Program { path: path.to_owned(), found, expected: architecture };
        if parsed.machine != machine {
            return Err(wrong("is for another architecture".into()));
        }
        match parsed.loader {
            Some(loader) => Err(wrong(format!("is not static: it needs {loader}"))),
            None => Ok(Self { executable, libraries: Vec::new() }),
        }
    }
}

/// What of this program is loaded when it runs: what debuggers read besides may be several times as much, all of which an emulated
/// guest would unpack. (Another's may carry more behind that, and read it.)
fn without_sections(mut executable: Vec<u8>) -> Vec<u8> {
    // e_shoff, and e_shnum with e_shstrndx, of a 64-bit header: elf(5).
    const TABLE: std::ops::Range<usize> = 0x28..0x30;
    const NUMBERS: std::ops::Range<usize> = 0x3c..0x40;
    let Some(loaded) = loaded_bytes(&executable) else { return executable };
    executable.truncate(loaded);
    executable[TABLE].fill(0);
    executable[NUMBERS].fill(0);
    executable
}

/// Until where a program for machines of 64 bits is loaded; `None` where it is none, or this cannot be told.
fn loaded_bytes(executable: &[u8]) -> Option<usize> {
    let file = ElfBytes::<AnyEndian>::minimal_parse(executable).ok()?;
    if file.ehdr.class != Class::ELF64 {
        return None;
    }
    let ends = file.segments()?.iter().map(|segment| segment.p_offset.checked_add(segment.p_filesz));
    let end = ends.collect::<Option<Vec<u64>>>()?.into_iter().max()?;
    let headers = file.ehdr.e_phoff + u64::from(file.ehdr.e_phnum) * u64::from(file.ehdr.e_phentsize);
    usize::try_from(end.max(headers)).ok().filter(|end| *end <= executable.len())
}

fn read(path: &Path) -> Result<Vec<u8>, GuestError> {
    std::fs::read(path).map_err(|source| GuestError::Read { path: path.to_owned(), source })
}

/// What matters here of an ELF file.
struct Parsed {
    machine: u16,
    loader: Option<String>,
    shared_name: Option<String>,
}

fn parse(bytes: &[u8], path: &Path) -> Result<Parsed, GuestError> {
    let not_elf =
        |reason: elf::ParseError| GuestError::NoElf { path: path.to_owned(), reason: reason.to_string() };
    let file = ElfBytes::<AnyEndian>::minimal_parse(bytes).map_err(not_elf)?;
    let segments = file.segments().into_iter().flatten();
    let loader = segments.filter(|segment| segment.p_type == PT_INTERP).find_map(|segment| {
        let name = file.segment_data(&segment).ok()?;
        Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned())
    });
    Ok(Parsed { machine: file.ehdr.e_machine, loader, shared_name: shared_name(&file) })
}

/// The name under which programs ask for a library.
fn shared_name(file: &ElfBytes<'_, AnyEndian>) -> Option<String> {
    let entry = file.dynamic().ok()??.iter().find(|entry| entry.d_tag == DT_SONAME)?;
    let (_, strings) = file.dynamic_symbol_table().ok()??;
    strings.get(usize::try_from(entry.d_val()).ok()?).ok().map(str::to_owned)
}

/// The shared libraries in this process's memory, the loader left out.
fn mapped_libraries() -> Vec<PathBuf> {
    libraries_in(&std::fs::read_to_string("/proc/self/maps").unwrap_or_default())
}

/// Libraries mapped into a process, from its maps, `proc_pid_maps(5)`.
fn libraries_in(maps: &str) -> Vec<PathBuf> {
    let files = maps.lines().filter_map(|line| Some(&line[line.find('/')?..]));
    let mut libraries: Vec<PathBuf> =
        files.filter(|path| path.contains(".so") && !path.contains("/ld-linux")).map(PathBuf::from).collect();
    libraries.sort();
    libraries.dedup();
    libraries
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether these tests were built without libraries.
    const IS_STATIC: bool = cfg!(target_feature = "crt-static");

    #[test]
    fn libraries_are_found_once_and_without_the_loader() {
        let maps = "\
55d0-55d1 r-xp 0 fe:00 1 /usr/bin/howlate
7f00-7f01 r--p 0 fe:00 2 /usr/lib/x86_64-linux-gnu/libc.so.6
7f01-7f02 r-xp 0 fe:00 2 /usr/lib/x86_64-linux-gnu/libc.so.6
7f03-7f04 r-xp 0 fe:00 3 /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2
7ffe-7fff r-xp 0 00:00 0 [vdso]
";
        assert_eq!(libraries_in(maps), [PathBuf::from("/usr/lib/x86_64-linux-gnu/libc.so.6")]);
    }

    #[test]
    fn a_program_runs_without_what_is_not_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let whole = std::fs::read("/proc/self/exe").unwrap();
        let less = without_sections(whole.clone());
        assert!(less.len() < whole.len(), "{} of {}", less.len(), whole.len());
        let path = folder.path().join("less");
        std::fs::write(&path, &less).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let listed = std::process::Command::new(&path).arg("--list").output().unwrap();
        assert!(
            String::from_utf8_lossy(&listed.stdout).contains("a_program_runs_without_what_is_not_loaded"),
            "{listed:?}"
        );
        for other in [&b"\x7fELF"[..], b"", b"#!/bin/sh\n"] {
            assert_eq!(without_sections(other.to_vec()), other, "it is left as it is");
        }
    }

    #[test]
    fn the_running_program_brings_its_loader_and_the_c_library() {
        let program = GuestProgram::running().unwrap();
        let names: Vec<&str> = program.libraries.iter().map(|(name, _)| name.as_str()).collect();
        if IS_STATIC {
            assert!(names.is_empty(), "{names:?}");
        } else {
            assert!(names.iter().any(|name| name.contains("libc.so")), "{names:?}");
            assert!(names[0].contains("/ld-"), "{names:?}");
        }
    }

    #[test]
    fn a_program_with_libraries_is_refused_by_name() {
        let own = std::env::current_exe().unwrap();
        let taken = GuestProgram::from_file(&own, Architecture::HERE).map_err(|error| error.to_string());
        assert_eq!(taken.is_ok(), IS_STATIC);
        assert!(taken.err().is_none_or(|error| error.contains("is not static")));
        let other = if Architecture::HERE == Architecture::X86_64 {
            Architecture::Aarch64
        } else {
            Architecture::X86_64
        };
        assert!(GuestProgram::from_file(&own, other).is_err());
        assert!(matches!(
            GuestProgram::from_file(Path::new("/etc/passwd"), other),
            Err(GuestError::NoElf { .. })
        ));
    }
}
