//! `kyoho picture` as its users run it.

mod common;

use std::path::{Path, PathBuf};

use common::{folder, run};

/// Returns what a successful call prints.
fn printed(arguments: &str) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the output is text")
}

/// Returns the sides of a PNG and the colours of its pixels, by rows from the top.
fn png(path: &Path) -> ([u32; 2], Vec<[u8; 3]>) {
    let content = std::io::Cursor::new(std::fs::read(path).expect("the picture is there"));
    let mut decoder = png::Decoder::new(content);
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().expect("it is a PNG");
    let mut bytes = vec![0; reader.output_buffer_size().expect("a small picture")];
    let frame = reader.next_frame(&mut bytes).expect("it has a picture");
    assert_eq!((frame.color_type, frame.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
    ([frame.width, frame.height], bytes.as_chunks().0.to_vec())
}

/// Three bodies in one plane.
fn three(folder: &Path) -> PathBuf {
    let path = folder.join("three.txt");
    std::fs::write(&path, "1 -1 -1 0 0 0 0\n10 1 -1 0 0 0 0\n100 1 1 0 0 0 0\n").expect("the folder takes files");
    path
}

#[test]
fn a_picture_has_a_colour_for_each_decade() {
    let folder = folder("decades");
    let (input, picture) = (three(&folder), folder.join("density.png"));
    let line = printed(&format!(
        "picture {} --centre 0,0,0 --width 4 --pixels 2 --output {}",
        input.display(),
        picture.display()
    ));
    assert_eq!(
        line,
        format!(
            "{}: 2 pixels a side, axes xy, width 4 round 0,0,0; 3 of 3 bodies, mass 1.110000e2 \
             of 1.110000e2; column densities from 2.500e-1 (dark) to 2.500e1 (bright), even in the logarithm\n",
            picture.display()
        )
    );
    let (sides, pixels) = png(&picture);
    assert_eq!(sides, [2, 2]);
    let [empty, bright, dark, middle] = pixels[..] else { panic!("{pixels:?}") };
    assert_eq!(empty, [0; 3]);
    let light = |colour: [u8; 3]| colour.map(u32::from).iter().sum::<u32>();
    assert!((100..250).contains(&light(dark)) && (250..400).contains(&light(middle)), "{pixels:?}");
    assert!(light(bright) > 500, "{pixels:?}");
}

#[test]
fn models_and_snapshots_in_every_format_have_the_same_picture() {
    let folder = folder("formats");
    for format in ["text", "hdf5"] {
        let start = format!("run --plummer 100 --eps 0.1 --backend cpu --t-end 0.1 --interval 0.1 --format {format}");
        printed(&format!("{start} --output {}", folder.join(format).display()));
        let model = format!("model plummer 100 --backend cpu --format {format}");
        printed(&format!("{model} --output {}", folder.join(format).join("model").display()));
    }
    let files = ["text/snapshot-000000.txt", "hdf5/snapshot-000000.h5", "text/model", "hdf5/model"];
    let pictures = files.map(|file| {
        let (file, picture) = (folder.join(file), folder.join("density.png"));
        printed(&format!("picture {} --pixels 50 --axes yz --output {}", file.display(), picture.display()));
        png(&picture)
    });
    assert!(pictures[0].0 == [50, 50] && pictures.iter().all(|picture| *picture == pictures[0]));
}

/// Returns the part of the pixels of a picture that are not black.
fn filled(path: &Path) -> f64 {
    let (_, pixels) = png(path);
    pixels.iter().filter(|colour| **colour != [0; 3]).count() as f64 / pixels.len() as f64
}

/// An escaper pulls the centre of mass out of its cluster, and a square that held it would show the
/// cluster as one pixel.
#[test]
fn a_cluster_is_seen_whatever_escapes_from_it() {
    let folder = folder("escaper");
    let (model, with_escaper) = (folder.join("model.txt"), folder.join("escaper.txt"));
    printed(&format!("model plummer 1024 --backend cpu --output {}", model.display()));
    let bodies = std::fs::read_to_string(&model).expect("the model");
    std::fs::write(&with_escaper, bodies + "1e-3 1e7 1e7 0 0 0 0\n").expect("the folder takes files");
    for (file, outside) in
        [(&model, ""), (&with_escaper, "bodies farther out are not drawn; --width 20400000 holds all")]
    {
        let line = printed(&format!("picture {}", file.display()));
        let part = filled(&file.with_extension("png"));
        assert!((0.01..0.2).contains(&part) && line.contains(outside), "{part}: {line}");
    }
}

#[test]
fn a_frame_has_coordinates_round_the_picture() {
    let folder = folder("frame");
    let input = three(&folder);
    let [plain, framed] = ["plain.png", "framed.png"].map(|name| folder.join(name));
    let picture = format!("picture {} --pixels 100", input.display());
    printed(&format!("{picture} --output {}", plain.display()));
    printed(&format!("{picture} --frame --output {}", framed.display()));
    let ((_, inner), ([width, height], pixels)) = (png(&plain), png(&framed));
    assert!(width == height && width > 100);
    let (side, border) = (width as usize, (width as usize - 100) / 2);
    let row = |row: usize| &pixels[(border + row) * side + border..][..100];
    assert!((0..100).all(|number| row(number) == &inner[100 * number..][..100]));
    assert!(pixels.iter().filter(|colour| **colour == [255; 3]).count() > 4 * 100);
}

#[test]
fn several_files_have_a_picture_each() {
    let folder = folder("several");
    let model = three(&folder);
    std::fs::copy(&model, folder.join("other.txt")).expect("the folder takes files");
    let files = format!("{} {}", model.display(), folder.join("other.txt").display());
    assert_eq!(printed(&format!("picture {files} --pixels 3")).lines().count(), 2);
    assert_eq!(png(&folder.join("three.png")), png(&folder.join("other.png")));
    printed(&format!("picture {files} --pixels 3 --range 0.01,1e3 --output {}", folder.join("pictures").display()));
    let wide = png(&folder.join("pictures/three.png"));
    assert!(wide == png(&folder.join("pictures/other.png")) && wide != png(&folder.join("three.png")));
}

#[test]
fn wrong_arguments_are_refused_and_name_what_is_allowed() {
    let folder = folder("wrong");
    let model = three(&folder);
    let model = model.display();
    for (code, arguments, parts) in [
        (2, "picture".to_string(), ["FILE", "required"]),
        (2, format!("picture {model} --axes zx"), ["--axes is 'zx'", "xy, xz, yz"]),
        (2, format!("picture {model} --width 0"), ["--width is 0", "above zero"]),
        (2, format!("picture {model} --width inf"), ["--width is inf", "above zero"]),
        (2, format!("picture {model} --centre 1,2"), ["--centre is 1,2", "three finite numbers"]),
        (2, format!("picture {model} --centre -1,2,nan"), ["--centre is -1,2,NaN", "three finite numbers"]),
        (2, format!("picture {model} --range 1,1"), ["--range is 1,1", "two numbers above zero"]),
        (2, format!("picture {model} --pixels 0"), ["--pixels", "from 1 to 16384"]),
        (2, format!("picture {model} --output density.svg"), ["density.svg", "names that end in .png"]),
        (2, format!("picture {model} {model}"), ["three.png", "a picture of its own for each file"]),
        (1, format!("picture {model} --width 1 --centre 9,9,9"), ["three.txt", "none of its mass lies in the square"]),
        (1, "picture nowhere.txt".to_string(), ["nowhere.txt", "No such file"]),
        (1, format!("picture {model} --output {}/no/density.png", folder.display()), ["no/density.png", "No such"]),
    ] {
        let output = run(&arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(code) && output.stdout.is_empty(), "{arguments}: {error}");
        assert!(parts.iter().all(|part| error.contains(part)), "{arguments}: {error}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}
