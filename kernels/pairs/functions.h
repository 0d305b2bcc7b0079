// The functions of pairs that users write for which PTX has no instruction. Their text stands before
// the kernels that call them. LINKED makes a function that is called by its name.

#define OF_ONE(function) \
    LINKED double pair_##function##_f64(double x) { return function(x); } \
    LINKED float pair_##function##_f32(float x) { return function##f(x); }
#define OF_TWO(function) \
    LINKED double pair_##function##_f64(double x, double y) { return function(x, y); } \
    LINKED float pair_##function##_f32(float x, float y) { return function##f(x, y); }

OF_ONE(exp)
OF_ONE(log)
OF_ONE(sin)
OF_ONE(cos)
OF_ONE(erf)
OF_TWO(pow)
