use kyoho_hal::Visible;

use super::*;

fn settings(variables: &[(&str, &str)], file: Option<&str>) -> Result<Settings> {
    let directory = std::env::temp_dir().join(format!("kyoho-config-{:?}", std::thread::current().id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("sapporo2.config");
    match file {
        Some(text) => std::fs::write(&path, text).unwrap(),
        None => drop(std::fs::remove_file(&path)),
    }
    let variable = |name: &str| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| value.to_string())
    };
    let settings = Settings::from(&variable, Some(&directory));
    std::fs::remove_dir_all(&directory).unwrap();
    settings
}

fn wanted(variables: &[(&str, &str)], file: Option<&str>) -> Wanted {
    settings(variables, file).unwrap().devices.wanted
}

#[test]
fn sapporo2_config_has_two_meanings_of_the_number_of_devices() {
    assert_eq!(wanted(&[], Some("1\n0\n")), Wanted::List(vec![0]));
    assert_eq!(wanted(&[], Some("2 devices\n3 third\n 1\n")), Wanted::List(vec![3, 1]));
    assert_eq!(wanted(&[], Some("-2\n")), Wanted::Count(2));
    assert_eq!(wanted(&[], Some("0\n0\n")), Wanted::All);
    assert_eq!(wanted(&[], Some("")), Wanted::All);
    assert_eq!(wanted(&[], None), Wanted::LocalRank(0));
}

#[test]
fn a_broken_file_is_an_error_that_names_the_line() {
    for (text, line) in [("two\n", "line 1"), ("2\n0\n", "line 3"), ("1\nx\n", "line 2")] {
        let error = settings(&[], Some(text)).unwrap_err().to_string();
        assert!(error.contains(line) && error.contains("sapporo2.config"), "{error}");
    }
    assert!(settings(&[("KYOHO_DEVICES", "all")], Some("two")).is_err());
}

/// Returns the error about `sapporo2.config` after `put` has put something in its place.
fn refused(put: impl FnOnce(&Path)) -> String {
    let directory = std::env::temp_dir().join(format!("kyoho-refused-{:?}", std::thread::current().id()));
    std::fs::create_dir_all(&directory).unwrap();
    put(&directory.join("sapporo2.config"));
    let settings = Settings::from(&|_| None, Some(&directory));
    std::fs::remove_dir_all(&directory).unwrap();
    settings.unwrap_err().to_string()
}

#[test]
fn only_a_regular_file_is_read() {
    let fifo = |path: &Path| {
        let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the path ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    };
    let socket = |path: &Path| drop(std::os::unix::net::UnixListener::bind(path).unwrap());
    let device = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).unwrap();
    let folder = |path: &Path| std::fs::create_dir(path).unwrap();
    for error in [refused(fifo), refused(socket), refused(device), refused(folder)] {
        assert!(error.contains("sapporo2.config is 'no regular file'; allowed: a regular file"), "{error}");
    }
}

#[test]
fn a_file_has_64_kib_at_most() {
    let mut text = "30000 devices\n".to_string() + &"0\n".repeat(30000);
    text.extend(std::iter::repeat_n('x', 65536 - text.len()));
    assert_eq!(wanted(&[], Some(&text)), Wanted::List(vec![0; 30000]));
    text.push('\n');
    let error = refused(|path| std::fs::write(path, text).unwrap());
    assert!(error.contains("sapporo2.config is '65537 bytes long'; allowed: up to 65536 bytes"), "{error}");
    // Its length is known before any of it is read.
    let error = refused(|path| std::fs::File::create(path).unwrap().set_len(1 << 40).unwrap());
    assert!(error.contains("sapporo2.config is '1099511627776 bytes long'"), "{error}");
}

#[test]
fn a_byte_order_mark_is_skipped_and_utf_16_is_named() {
    assert_eq!(wanted(&[], Some("\u{feff}1 device\n3\n")), Wanted::List(vec![3]));
    assert_eq!(wanted(&[], Some("\u{feff}")), Wanted::All);
    for bytes in [b"\xff\xfe1\0\n\0", b"\xfe\xff\x001\0\n"] {
        let error = refused(|path| std::fs::write(path, bytes).unwrap());
        assert!(error.contains("sapporo2.config is 'text in UTF-16'; allowed: text in ASCII or UTF-8"), "{error}");
    }
}

/// Returns the devices and the sentence of the settings on a backend with this many visible
/// devices, or the error.
fn selected(
    variables: &[(&str, &str)],
    file: Option<&str>,
    (backend, visible): (Backend, usize),
) -> std::result::Result<(Vec<usize>, String), String> {
    let selection = settings(variables, file).and_then(|settings| settings.select_of(backend, Visible::alike(visible)));
    selection.map(|selection| (selection.devices, selection.because)).map_err(|error| error.to_string())
}

type Row<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>, usize, &'a [usize], &'a str);

/// Checks rows of the variables, the file, the number of visible GPUs, those that are taken, and
/// the reason.
fn check(rows: &[Row]) {
    for (variables, file, visible, devices, because) in rows {
        let found = selected(variables, *file, (Backend::Cuda, *visible));
        assert_eq!(found, Ok((devices.to_vec(), because.to_string())), "{variables:?} {file:?}");
    }
}

#[test]
fn each_way_to_choose_gives_its_devices_and_says_why() {
    check(&[
        (&[], None, 1, &[0], "by default the first of 1 device: device 0"),
        (&[], None, 4, &[0], "by default the first of 4 devices: device 0"),
        (&[("KYOHO_DEVICES", "all")], None, 3, &[0, 1, 2], "KYOHO_DEVICES asks for all of 3 devices: devices 0, 1, 2"),
        (&[("KYOHO_DEVICES", "all")], None, 1, &[0], "KYOHO_DEVICES asks for all of 1 device: device 0"),
        (&[("KYOHO_DEVICES", " 2 ")], None, 4, &[0, 1], "KYOHO_DEVICES asks for 2 of 4 devices: devices 0, 1"),
        (&[("KYOHO_DEVICES", "3, 1")], None, 4, &[3, 1], "KYOHO_DEVICES names 2 of 4 devices: devices 3, 1"),
        // A list of one number ends in a comma, because a number alone is a count.
        (&[("KYOHO_DEVICES", "3,")], None, 4, &[3], "KYOHO_DEVICES names 1 of 4 devices: device 3"),
        (&[], Some("0"), 2, &[0, 1], "sapporo2.config asks for all of 2 devices: devices 0, 1"),
        (&[], Some("-2"), 4, &[0, 1], "sapporo2.config asks for 2 of 4 devices: devices 0, 1"),
        (&[], Some("1\n3\n"), 4, &[3], "sapporo2.config names 1 of 4 devices: device 3"),
        (&[("GPU_LIST", "2 0")], None, 4, &[2, 0], "GPU_LIST names 2 of 4 devices: devices 2, 0"),
        (
            &[("OMPI_COMM_WORLD_LOCAL_RANK", "2")],
            None,
            4,
            &[2],
            "local rank 2 (OMPI_COMM_WORLD_LOCAL_RANK) on 4 devices: device 2",
        ),
    ]);
}

#[test]
fn the_first_that_speaks_decides_the_devices() {
    let all = [("KYOHO_DEVICES", "all"), ("GPU_LIST", "2"), ("MPI_LOCALRANKID", "1")];
    let no_say = "; local rank 1 (MPI_LOCALRANKID) has no effect: ranks with the same setting share them";
    check(&[
        (&all, Some("-2"), 3, &[0, 1, 2], &format!("KYOHO_DEVICES asks for all of 3 devices: devices 0, 1, 2{no_say}")),
        (&all[1..], Some("-2"), 3, &[0, 1], &format!("sapporo2.config asks for 2 of 3 devices: devices 0, 1{no_say}")),
        (&all[1..], None, 3, &[2], &format!("GPU_LIST names 1 of 3 devices: device 2{no_say}")),
        (&all[2..], None, 3, &[1], "local rank 1 (MPI_LOCALRANKID) on 3 devices: device 1"),
        // A blank variable counts as not set.
        (&[("KYOHO_DEVICES", " "), all[1]], None, 3, &[2], "GPU_LIST names 1 of 3 devices: device 2"),
    ]);
}

#[test]
fn an_argument_overrules_all_variables_and_the_file() {
    let variables = [("KYOHO_DEVICES", "all"), ("MPI_LOCALRANKID", "1"), ("MPI_LOCALNRANKS", "2")];
    let mut settings = settings(&variables, Some("-2")).unwrap();
    settings.devices = DeviceChoice::parse("devices", "2,").unwrap();
    let expected = "devices names 1 of 3 devices: device 2; \
        local rank 1 of 2 (MPI_LOCALRANKID) has no effect: ranks with the same setting share them";
    let selection = settings.select_of(Backend::Cuda, Visible::alike(3)).unwrap();
    assert_eq!((selection.devices, selection.because.as_str()), (vec![2], expected));
}

#[test]
fn a_device_that_is_named_twice_takes_two_shares() {
    let expected = "KYOHO_DEVICES names 2 of 2 devices: devices 1 (2 shares), 0";
    check(&[
        (&[("KYOHO_DEVICES", "1,0,1")], None, 2, &[1, 0, 1], expected),
        (&[("GPU_LIST", "0 0 0")], None, 2, &[0, 0, 0], "GPU_LIST names 1 of 2 devices: device 0 (3 shares)"),
    ]);
}

#[test]
fn every_launcher_says_its_local_rank() {
    for variable in [
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "MPI_LOCALRANKID",
        "MV2_COMM_WORLD_LOCAL_RANK",
        "MVP_COMM_WORLD_LOCAL_RANK",
        "MPT_LRANK",
        "FLUX_TASK_LOCAL_ID",
        "JSM_NAMESPACE_LOCAL_RANK",
        "PALS_LOCAL_RANKID",
        "PMI_LOCAL_RANK",
        "SLURM_LOCALID",
    ] {
        let expected = format!("local rank 3 ({variable}) on 4 devices: device 3");
        check(&[(&[(variable, "3")], None, 4, &[3], &expected)]);
    }
}

#[test]
fn the_log_says_the_rank_as_the_launcher_numbers_it() {
    let said = |variables: &[(&str, &str)]| {
        super::launcher::rank_of(&|name| Some(variables.iter().find(|(variable, _)| *variable == name)?.1.to_string()))
    };
    assert_eq!(said(&[]), "started by no launcher");
    let mpi = ("OMPI_COMM_WORLD_LOCAL_RANK", "1");
    assert_eq!(said(&[mpi, ("OMPI_COMM_WORLD_RANK", "9")]), "rank 9 (OMPI_COMM_WORLD_RANK)");
    assert_eq!(said(&[mpi]), "rank unknown (OMPI_COMM_WORLD_RANK is not set)");
    assert_eq!(said(&[("MPT_LRANK", "3")]), "local rank 3 (MPT_LRANK)");
    // Open MPI's launcher inherited Slurm's variables.
    let both = [("SLURM_LOCALID", "0"), ("SLURM_PROCID", "0"), mpi, ("OMPI_COMM_WORLD_RANK", "2")];
    assert_eq!(said(&both), "rank 2 (OMPI_COMM_WORLD_RANK)");
}

#[test]
fn launchers_say_how_many_processes_the_host_has() {
    for (rank, size) in [
        ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
        ("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
        ("MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"),
    ] {
        let expected = format!("local rank 5 of 8 ({rank}) on 4 devices: device 1, which rank 1 has too");
        check(&[(&[(rank, "5"), (size, "8")], None, 4, &[1], &expected)]);
    }
    // Slurm's variable lists all hosts of a step.
    let slurm = |sizes, host| {
        let variables = [("SLURM_LOCALID", "1"), ("SLURM_STEP_TASKS_PER_NODE", sizes), ("SLURM_NODEID", host)];
        settings(&variables, None).unwrap().local_rank.unwrap().size
    };
    let hosts = |sizes| ["0", "1", "2", "3", "4"].map(|host| slurm(sizes, host));
    assert_eq!(hosts("2"), [Some(2), None, None, None, None]);
    assert_eq!(hosts("4(x2),3,2"), [Some(4), Some(4), Some(3), Some(2), None]);
    assert_eq!(hosts("four"), [None; 5]);
}

#[test]
fn a_number_of_processes_that_cannot_be_is_not_told() {
    for size in ["3", "0", "-1", "many"] {
        let variables = [("MPI_LOCALRANKID", "3"), ("MPI_LOCALNRANKS", size)];
        check(&[(&variables, None, 4, &[3], "local rank 3 (MPI_LOCALRANKID) on 4 devices: device 3")]);
    }
}

/// A launcher passes on the variables of the one before it. So a batch script of Slurm, which has
/// local rank 0, passes that on to all processes that mpirun starts in it.
#[test]
fn the_launcher_that_started_the_process_decides() {
    let outer = [("SLURM_LOCALID", "0"), ("PALS_LOCAL_RANKID", "0"), ("SLURM_STEP_TASKS_PER_NODE", "1")];
    for (rank, size) in [
        ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
        ("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
        ("MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"),
    ] {
        let variables = [&outer[..], &[(rank, "2"), (size, "4")]].concat();
        let expected = format!("local rank 2 of 4 ({rank}) on 4 devices: device 2");
        check(&[(&variables, None, 4, &[2], &expected)]);
    }
    let flux = [&outer[..], &[("JSM_NAMESPACE_LOCAL_RANK", "0"), ("FLUX_TASK_LOCAL_ID", "1")]].concat();
    check(&[(&flux, None, 4, &[1], "local rank 1 (FLUX_TASK_LOCAL_ID) on 4 devices: device 1")]);
}

#[test]
fn ranks_beyond_the_devices_share_them_and_are_told_with_whom() {
    let taken = |rank, size, visible| {
        let variables = [("MPI_LOCALRANKID", rank), ("MPI_LOCALNRANKS", size)];
        let (devices, because) = selected(&variables, None, (Backend::Cuda, visible)).unwrap();
        (devices, because.split_once(": ").unwrap().1.to_string())
    };
    let both = |device, words: &str| (vec![device], words.to_string());
    assert_eq!(taken("0", "2", 2), both(0, "device 0"));
    assert_eq!(taken("0", "3", 2), both(0, "device 0, which rank 2 has too"));
    assert_eq!(taken("1", "3", 2), both(1, "device 1"));
    assert_eq!(taken("4", "8", 2), both(0, "device 0, which ranks 0, 2, 6 have too"));
    assert_eq!(taken("4", "9", 2), both(0, "device 0, which 4 other ranks have too"));
    assert_eq!(taken("63", "64", 1), both(0, "device 0, which 63 other ranks have too"));
    // If the number of ranks is unknown, the ranks that must exist are named.
    assert_eq!(taken("5", "", 4), both(1, "device 1, which rank 1 has too"));
    assert_eq!(taken("1", "", 4), both(1, "device 1"));
}

/// Slurm, Flux and others may show each process a device of its own.
#[test]
fn a_launcher_that_gives_each_process_one_device_has_its_way() {
    let own = [("SLURM_LOCALID", "2"), ("CUDA_VISIBLE_DEVICES", "2")];
    let reason = "local rank 2 (SLURM_LOCALID) on 1 device (CUDA_VISIBLE_DEVICES is '2'): device 0, \
        which ranks 0, 1 have too if CUDA_VISIBLE_DEVICES is the same there";
    check(&[
        (&own, None, 1, &[0], reason),
        (&own[1..], None, 1, &[0], "by default the first of 1 device (CUDA_VISIBLE_DEVICES is '2'): device 0"),
    ]);
}

#[test]
fn the_cpu_is_one_device_whatever_is_said_of_gpus() {
    let on_cpu = |variables: &[(&str, &str)], file| selected(variables, file, (Backend::Cpu, 1));
    let first = |words: &str| Ok((vec![0], words.to_string()));
    assert_eq!(on_cpu(&[("GPU_LIST", "2 3")], None), first("GPU_LIST is about GPUs only: device 0, the CPU"));
    assert_eq!(on_cpu(&[], Some("1\n5\n")), first("sapporo2.config is about GPUs only: device 0, the CPU"));
    let ranks = [("MPI_LOCALRANKID", "3"), ("MPI_LOCALNRANKS", "4"), ("CUDA_VISIBLE_DEVICES", "3")];
    let shared = "local rank 3 of 4 (MPI_LOCALRANKID) on 1 device: device 0, which ranks 0, 1, 2 have too";
    assert_eq!(on_cpu(&ranks, None), first(shared));
    // This one speaks of the devices of any backend.
    let error = on_cpu(&[("KYOHO_DEVICES", "0,1")], None).unwrap_err();
    assert_eq!(error, "KYOHO_DEVICES is 'device 1 of backend cpu'; allowed: devices 0 to 0");
}

#[test]
fn where_none_is_named_the_devices_of_the_first_kind_are_meant() {
    // Three GPUs and behind them two CPUs.
    let visible = Visible { all: 5, alike: 3 };
    let selected = |variables: &[(&str, &str)]| {
        let selection = settings(variables, None).unwrap().select_of(Backend::OpenCl, visible);
        selection.map(|selection| (selection.devices, selection.because)).map_err(|error| error.to_string())
    };
    let expected = |devices: &[usize], because: &str| Ok((devices.to_vec(), because.to_owned()));
    let all = "KYOHO_DEVICES asks for all of 3 devices: devices 0, 1, 2";
    assert_eq!(selected(&[("KYOHO_DEVICES", "all")]), expected(&[0, 1, 2], all));
    let rank = [("MPI_LOCALRANKID", "4"), ("MPI_LOCALNRANKS", "5")];
    let (devices, because) = selected(&rank).unwrap();
    assert_eq!((devices, because.contains("on 3 devices: device 1")), (vec![1], true), "{because}");
    assert_eq!(selected(&[("KYOHO_DEVICES", "4,")]), expected(&[4], "KYOHO_DEVICES names 1 of 5 devices: device 4"));
    let refused = "KYOHO_DEVICES is '4 devices of backend opencl'; allowed: 1 to 3 of devices 0 to 2";
    assert_eq!(selected(&[("KYOHO_DEVICES", "4")]), Err(refused.to_owned()));
    let refused = "KYOHO_DEVICES is 'device 5 of backend opencl'; allowed: devices 0 to 4";
    assert_eq!(selected(&[("KYOHO_DEVICES", "5,")]), Err(refused.to_owned()));
}

#[test]
fn devices_that_are_not_there_are_errors_that_name_who_asked() {
    let refused = |variables: &[(&str, &str)], file| selected(variables, file, (Backend::Cuda, 2)).unwrap_err();
    for (value, error) in [
        ("0,2", "KYOHO_DEVICES is 'device 2 of backend cuda'; allowed: devices 0 to 1"),
        ("3", "KYOHO_DEVICES is '3 devices of backend cuda'; allowed: 1 to 2 of devices 0 to 1"),
    ] {
        assert_eq!(refused(&[("KYOHO_DEVICES", value)], None), error);
    }
    let error = "GPU_LIST is 'device 7 of backend cuda'; allowed: devices 0 to 1";
    assert_eq!(refused(&[("GPU_LIST", "1 7")], None), error);
    let error = "sapporo2.config is 'device 2 of backend cuda'; allowed: devices 0 to 1";
    assert_eq!(refused(&[], Some("1\n2\n")), error);
    let error = "sapporo2.config is '3 devices of backend cuda'; allowed: 1 to 2 of devices 0 to 1";
    assert_eq!(refused(&[], Some("-3")), error);
}

#[test]
fn a_local_rank_that_is_none_is_an_error_unless_others_decide() {
    for value in ["first", "-1", "1.0", "1 2"] {
        let broken = ("SLURM_LOCALID", value);
        let error = settings(&[broken], None).unwrap_err().to_string();
        assert!(error.starts_with(&format!("SLURM_LOCALID is '{value}'; allowed: ")), "{error}");
        assert_eq!(wanted(&[broken, ("KYOHO_DEVICES", "1,")], None), Wanted::List(vec![1]));
    }
}

#[test]
fn unknown_values_are_errors_that_name_the_allowed_ones() {
    let cases = [
        ("KYOHO_BACKEND", "gpu", "cuda"),
        ("KYOHO_PRECISION", "float", "mixed"),
        ("KYOHO_PRECISION", "half", "allowed: single, mixed, double, quad"),
        ("KYOHO_NPIPES", "0", "16384"),
        ("KYOHO_NPIPES", "20000", "16384"),
        ("KYOHO_THREADS", "many", "1 to"),
        ("KYOHO_CPU_LEVEL", "sse", "portable"),
        ("KYOHO_DEVICES", "-1", "all"),
        ("KYOHO_DEVICES", "0", "a count such as 2, or a list such as 0,2 or, for the first device, 0,"),
        ("KYOHO_DEVICES", ",", "all"),
        ("KYOHO_DEVICES", "0,,1", "all"),
        ("KYOHO_DEVICES", "0;1", "all"),
        ("GPU_LIST", "0,1", "numbers of devices with spaces between"),
        ("GPU_LIST", "-1", "numbers of devices"),
        ("KYOHO_LOG", "loud", "info"),
        ("KYOHO_CROSSOVER", "-1", "off"),
        ("KYOHO_CROSSOVER", "on", "0 or more"),
        ("KYOHO_ACCURACY", "0.1", "0 for direct sums, or 1e-6 to 0.01"),
        ("KYOHO_ACCURACY", "much", "a number"),
        ("KYOHO_THETA", "-1", "0 for direct sums, or 0.1 to 1.5"),
        ("KYOHO_ON_FAILURE", "halt", "allowed: nan, stop"),
    ];
    for (name, value, allowed) in cases {
        let error = settings(&[(name, value)], None).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains(value) && error.contains(allowed), "{error}");
    }
}

#[test]
fn the_crossover_is_a_number_or_off_or_left_to_the_device() {
    let crossover = |value| settings(&[("KYOHO_CROSSOVER", value)], None).unwrap().crossover;
    assert_eq!([crossover("off"), crossover("0"), crossover(" 100000 ")], [Some(0), Some(0), Some(100_000)]);
    assert_eq!(settings(&[], None).unwrap().crossover, None);
}

#[test]
fn a_failure_is_nan_unless_it_shall_stop_the_process() {
    let on_failure = |variables: &[_]| settings(variables, None).unwrap().on_failure;
    assert_eq!([on_failure(&[]), on_failure(&[("KYOHO_ON_FAILURE", "nan")])], [OnFailure::Nan; 2]);
    assert_eq!(on_failure(&[("KYOHO_ON_FAILURE", " stop ")]), OnFailure::Stop);
}

#[test]
fn a_backend_that_nobody_asked_for_may_be_left() {
    let setup = |variables: &[_]| settings(variables, None).unwrap().setup(Order::Fourth, Precision::Double).unwrap();
    assert!(setup(&[]).fall_back);
    assert!(!setup(&[("KYOHO_BACKEND", "cpu")]).fall_back);
}

#[test]
fn threads_follow_the_first_variable_that_speaks() {
    let all = [("SLURM_CPUS_PER_TASK", "7"), ("OMP_NUM_THREADS", "5,2"), ("KYOHO_THREADS", "3")];
    assert_eq!(settings(&all, None).unwrap().threads, 3);
    assert_eq!(settings(&all[..2], None).unwrap().threads, 5);
    assert_eq!(settings(&all[..1], None).unwrap().threads, 7);
    assert_eq!(settings(&[("KYOHO_NPIPES", "48")], None).unwrap().npipes, 48);
}
