//! The developer's commands.

mod bench_notify;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["bench", "notify", ..] => bench_notify::run(&arguments[2..]),
        _ => Err("write `cargo xtask bench notify`".into()),
    }
}
