//! Commands of developers that need a whole machine: benches, a soak test, checks of claims, many kernels, captures, a cluster. They
//! are listed and started by `cargo xtask`.

mod bench;
mod capture_kernel;
mod capture_live;
mod capture_system;
mod capture_traces;
mod kernel_matrix;
mod kubernetes;
mod soak;
mod truth;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    // In a guest, this program is the init process.
    howlate_guest::serve_as_init();
    // Started again as the guardian, which restores settings of the machine.
    if let Some(result) = howlate_guard::GUARDIAN.serve_if_started_as() {
        return exit_status(result);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["bench", names @ ..] => bench::run(names),
        ["kernels", names @ ..] => kernel_matrix::run(names),
        ["kubernetes", ..] => kubernetes::run(),
        ["soak", arguments @ ..] => soak::run(arguments),
        ["truth", arguments @ ..] => truth::run(arguments),
        // Last in a guest: what its first process adds.
        ["capture-traces"] | ["capture-traces", "--quiet"] => exit_status(capture_traces::print_here()),
        ["capture-traces", kernels @ ..] => exit_status(capture_traces::of_guests(kernels)),
        ["capture-kernel", kernels @ ..] if !kernels.is_empty() => {
            exit_status(capture_kernel::capture(kernels))
        }
        ["capture-live", file] => exit_status(capture_live::capture(Path::new(file))),
        ["capture-system", folder] => capture(Path::new(folder)),
        _ => {
            eprintln!("error: `cargo xtask` lists the commands");
            ExitCode::from(2)
        }
    }
}

fn exit_status(result: std::io::Result<()>) -> ExitCode {
    result.map_or_else(
        |error| {
            eprintln!("error: {error}");
            ExitCode::from(2)
        },
        |()| ExitCode::SUCCESS,
    )
}

fn capture(folder: &Path) -> ExitCode {
    match capture_system::capture(folder) {
        Ok(captured) => {
            println!("{} files in {}", captured.files, folder.display());
            println!(
                "Look through them before you share them; {} paths were refused.",
                captured.refused.len()
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: cannot capture into {}: {error}", folder.display());
            ExitCode::from(2)
        }
    }
}
