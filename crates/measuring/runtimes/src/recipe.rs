//! How the program of each runtime is made and started.

use howlate_model::Runtime;

/// A program that something needs, under the names it may have, and the Debian package that brings it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    /// The first one found is used.
    pub(crate) names: &'static [&'static str],
    pub(crate) package: &'static str,
}

/// How a source becomes a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compiler {
    pub(crate) tool: Tool,
    /// What it takes to tell its version.
    pub(crate) version: &'static str,
    /// What it takes to compile, in the folder of the source.
    pub(crate) arguments: &'static [&'static str],
}

/// What runs a source as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interpreter {
    pub(crate) tool: Tool,
    /// What it takes to print where it really is; a version manager's wrapper is not what is to be measured.
    pub(crate) place: Option<&'static [&'static str]>,
}

/// How a program is started.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    /// It is started as it is, without a compiler.
    Program(&'static str),
    /// By an interpreter that takes the file.
    Script(Interpreter, &'static str),
    /// By a Java virtual machine that takes the class.
    Class(Tool, &'static str),
}

/// A file's name and content.
pub(crate) type Source = (&'static str, &'static str);

/// How one runtime's program is made and started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipe {
    /// The files' names and contents.
    pub(crate) sources: &'static [Source],
    /// `None` where the source is run as it is.
    pub(crate) compiler: Option<Compiler>,
    /// What is started in the folder with all these.
    pub(crate) start: Start,
    /// What the program takes after the protocol's arguments.
    pub(crate) last: Option<&'static str>,
}

macro_rules! source {
    ($file:literal) => {
        &[($file, include_str!(concat!("../programs/", $file)))]
    };
}

const PYTHON: Interpreter = Interpreter {
    tool: Tool { names: &["python3"], package: "python3" },
    place: Some(&["-c", "import sys; print(sys.executable)"]),
};
const NODE: Interpreter = Interpreter {
    tool: Tool { names: &["node", "nodejs"], package: "nodejs" },
    place: Some(&["-p", "process.execPath"]),
};
const BASH: Interpreter = Interpreter { tool: Tool { names: &["bash"], package: "bash" }, place: None };
const JAVA: Tool = Tool { names: &["java"], package: "default-jdk-headless" };

const C: Compiler = Compiler {
    tool: Tool { names: &["cc", "gcc", "clang"], package: "gcc" },
    version: "--version",
    arguments: &["-O2", "-o", "probe", "c.c"],
};
const CPP: Compiler = Compiler {
    tool: Tool { names: &["c++", "g++", "clang++"], package: "g++" },
    version: "--version",
    arguments: &["-O2", "-std=c++17", "-o", "probe", "cpp.cpp"],
};
const RUST: Compiler = Compiler {
    tool: Tool { names: &["rustc"], package: "rustc" },
    version: "--version",
    arguments: &["-O", "--edition", "2021", "-o", "probe", "rust.rs"],
};
const GO: Compiler = Compiler {
    tool: Tool { names: &["go"], package: "golang-go" },
    version: "version",
    arguments: &["build", "-o", "probe", "go.go"],
};
const JAVAC: Compiler = Compiler {
    tool: Tool { names: &["javac"], package: "default-jdk-headless" },
    version: "-version",
    arguments: &["Java.java"],
};

const CARGO: Compiler = Compiler {
    tool: Tool { names: &["cargo"], package: "cargo" },
    version: "--version",
    arguments: &["build", "--quiet", "--release", "--locked", "--target-dir", "target"],
};
/// Beside a compiler, it takes crates from crates.io.
const TOKIO_SOURCES: &[Source] = &[
    ("tokio.rs", include_str!("../programs/tokio/tokio.rs")),
    ("Cargo.toml", include_str!("../programs/tokio/manifest.toml")),
    ("Cargo.lock", include_str!("../programs/tokio/Cargo.lock")),
];

impl Recipe {
    /// How `runtime`'s program is made; `None` for a program of the user's own, which is there already.
    pub(crate) fn for_runtime(runtime: Runtime) -> Option<Self> {
        Some(match runtime {
            Runtime::Python => Self::interpreted(source!("python.py"), PYTHON),
            Runtime::Node => Self::interpreted(source!("node.js"), NODE),
            Runtime::Shell => Self::interpreted(source!("shell.sh"), BASH),
            Runtime::C => Self::compiled(source!("c.c"), C),
            Runtime::Cpp => Self::compiled(source!("cpp.cpp"), CPP),
            Runtime::Rust => Self::compiled(source!("rust.rs"), RUST),
            Runtime::Go => Self::compiled(source!("go.go"), GO),
            Runtime::Java => {
                Self { start: Start::Class(JAVA, "Java"), ..Self::compiled(source!("Java.java"), JAVAC) }
            }
            Runtime::JavaPark => Self { last: Some("park"), ..Self::for_runtime(Runtime::Java)? },
            Runtime::Tokio => {
                Self { start: Start::Program("target/release/probe"), ..Self::compiled(TOKIO_SOURCES, CARGO) }
            }
            Runtime::Own(_) => return None,
        })
    }

    const fn interpreted(sources: &'static [Source], interpreter: Interpreter) -> Self {
        Self { sources, compiler: None, start: Start::Script(interpreter, sources[0].0), last: None }
    }

    const fn compiled(sources: &'static [Source], compiler: Compiler) -> Self {
        Self { sources, compiler: Some(compiler), start: Start::Program("probe"), last: None }
    }

    /// Everything it needs.
    pub(crate) fn tools(&self) -> impl Iterator<Item = Tool> {
        let interpreter = match self.start {
            Start::Program(_) => None,
            Start::Script(interpreter, _) => Some(interpreter.tool),
            Start::Class(tool, _) => Some(tool),
        };
        self.compiler.map(|compiler| compiler.tool).into_iter().chain(interpreter)
    }
}
