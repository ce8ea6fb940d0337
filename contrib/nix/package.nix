# nix-build -E 'with import <nixpkgs> { }; callPackage ./contrib/nix/package.nix { }'
{
  lib,
  rustPlatform,
  pkg-config,
  sqlite,
  installShellFiles,
  stdenv,
  buildPackages,
}:

let
  # The program itself writes its pages and completions, by an emulator when cross-compiling.
  generate = "${stdenv.hostPlatform.emulator buildPackages} $out/bin/assay --generate";
in
rustPlatform.buildRustPackage {
  pname = "assay";
  version = (lib.importTOML ../../Cargo.toml).workspace.package.version;

  src = lib.cleanSource ../..;
  cargoLock.lockFile = ../../Cargo.lock;

  # Nixpkgs has one SQLite for all.
  buildNoDefaultFeatures = true;
  nativeBuildInputs = [
    pkg-config
    installShellFiles
  ];
  buildInputs = [ sqlite ];

  # The agent is built apart: together with the program it would get the program's features.
  postBuild = ''
    cargo build --release --frozen --offline --target ${stdenv.hostPlatform.rust.rustcTarget} \
      --package assay-agent --no-default-features --features sqlite
  '';

  # Tests need root, loop devices and emulated boards.
  doCheck = false;

  postInstall = ''
    mkdir -p $out/libexec/assay/bin
    ln -rs $out/bin/assay $out/libexec/assay/bin/fio
    ln -rs $out/bin/assay $out/libexec/assay/bin/dd
    ln -rs $out/bin/assay $out/libexec/assay/bin/iozone
    ${generate} man man1
    installManPage man1/*
    installShellCompletion --cmd assay \
      --bash <(${generate} complete-bash) \
      --zsh <(${generate} complete-zsh) \
      --fish <(${generate} complete-fish)
  '';

  meta = {
    description = "Measures storage, and says what each figure measured";
    license = with lib.licenses; [
      mit
      asl20
    ];
    mainProgram = "assay";
    platforms = lib.platforms.linux;
  };
}
