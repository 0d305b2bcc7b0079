//! The names that g77 and `gfortran -fsecond-underscore` make. They are in no header: only compilers write them.

#![allow(clippy::missing_safety_doc, reason = "each is the function of the same name with one underscore")]
#![allow(clippy::too_many_arguments, reason = "the arguments are those of the GRAPE-6 interface")]

use std::ffi::{c_int, c_void};

use super::fortran;

macro_rules! double_underscore {
    ($($alias:ident = $function:ident($($argument:ident),*);)*) => {$(
        #[doc = concat!("The same as `", stringify!($function), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $alias($($argument: *mut c_void),*) -> c_int {
            // SAFETY: the caller promises what the function with one underscore asks for.
            unsafe { fortran::$function($($argument.cast()),*) }
        }
    )*};
}

double_underscore! {
    g6_open__ = g6_open_(cid);
    g6_close__ = g6_close_(cid);
    g6_reset__ = g6_reset_(cid);
    g6_reset_fofpga__ = g6_reset_fofpga_(cid);
    g6_reinitialize__ = g6_reinitialize_(cid);
    g6_npipes__ = g6_npipes_();
    g6_set_tunit__ = g6_set_tunit_(unit);
    g6_set_xunit__ = g6_set_xunit_(unit);
    g6_set_ti__ = g6_set_ti_(cid, ti);
    g6_set_j_particle__ = g6_set_j_particle_(cid, address, index, tj, dtj, mass, k18, j6, a2, v, x);
    g6_set_j_particle_mxonly__ = g6_set_j_particle_mxonly_(cid, address, index, mass, x);
    g6_initialize_jp_buffer__ = g6_initialize_jp_buffer_(cid, size);
    g6_flush_jp_buffer__ = g6_flush_jp_buffer_(cid);
    g6calc_firsthalf__ = g6calc_firsthalf_(cid, nj, ni, index, xi, vi, aold, jold, phiold, eps2, h2);
    g6calc_lasthalf__ = g6calc_lasthalf_(cid, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot);
    g6calc_lasthalf2__ = g6calc_lasthalf2_(cid, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot, nn);
    g6calc_lasthalfn__ = g6calc_lasthalfn_(cid, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot);
    g6calc_lasthalf2n__ = g6calc_lasthalf2n_(cid, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot, nn);
    g6calc_lasthalf2p__ = g6calc_lasthalf2p_(cid, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot, nn, rnn);
    g6calc_lasthalf2np__ = g6calc_lasthalf2np_(cid, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot, nn, rnn);
    g6_read_neighbour_list__ = g6_read_neighbour_list_(cid);
    g6_get_neighbour_list__ = g6_get_neighbour_list_(cid, ipipe, maxlength, nblen, nbl);
    g6_set_neighbour_list_sort_mode__ = g6_set_neighbour_list_sort_mode_(mode);
    g6_get_neighbour_list_sort_mode__ = g6_get_neighbour_list_sort_mode_();
    g6_set_overflow_flag_test_mode__ = g6_set_overflow_flag_test_mode_(aflag, jflag, pflag);
}
