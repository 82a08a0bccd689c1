{
  lib,
  rustPlatform,
  installShellFiles,
  source ? ../..,
}:

rustPlatform.buildRustPackage {
  pname = "howlate";
  version = (lib.importTOML "${source}/Cargo.toml").workspace.package.version;
  src = source;
  cargoLock.lockFile = "${source}/Cargo.lock";
  cargoBuildFlags = [
    "--package"
    "howlate"
  ];
  # The tests want tracefs, QEMU and root.
  doCheck = false;

  nativeBuildInputs = [ installShellFiles ];
  postInstall = ''
    install -Dm644 loop/*.h -t $out/include
    install -Dm644 packaging/systemd/* -t $out/lib/systemd/system
    substituteInPlace $out/lib/systemd/system/* --replace-quiet /usr/bin/howlate $out/bin/howlate
    $out/bin/howlate man > howlate.1
    for page in $($out/bin/howlate help --all | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\)  .*/\1/p' | grep -vx help); do
      $out/bin/howlate man $page > howlate-$page.1
    done
    installManPage howlate*.1
    for shell in bash zsh fish; do
      $out/bin/howlate completions $shell > howlate.$shell
    done
    installShellCompletion howlate.bash howlate.fish --zsh --name _howlate howlate.zsh
  '';

  meta = {
    description = "Tells how late Linux runs your code, and why";
    homepage = "https://github.com/howlate/howlate";
    license = with lib.licenses; [
      mit
      asl20
    ];
    mainProgram = "howlate";
    platforms = lib.platforms.linux;
  };
}
