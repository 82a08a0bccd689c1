{
  lib,
  rustPlatform,
  source ? ../..,
}:

rustPlatform.buildRustPackage {
  pname = "howlate";
  version = (lib.importTOML "${source}/Cargo.toml").workspace.package.version;
  src = source;
  cargoLock.lockFile = "${source}/Cargo.lock";
  buildType = "dist";
  buildFeatures = [ "parquet" ];
  cargoBuildFlags = [
    "--package"
    "howlate"
  ];
  # The tests want tracefs, QEMU and root.
  doCheck = false;

  postInstall = ''
    install -Dm644 loop/*.h -t $out/include
    sh packaging/install.sh $out/bin/howlate $out
    substituteInPlace $out/lib/systemd/system/* --replace-quiet /usr/bin/howlate $out/bin/howlate
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
