/* The libraries that give plain old names to functions of libkyoho share this file. */
#ifndef FORWARD_H
#define FORWARD_H

/* Defines a function of a header. It has the type of the header and calls the function of libkyoho
 * whose name has the prefix. Only names with a prefix are called: a program may define a function
 * of a plain name itself, and the dynamic linker would then prefer that function. In a static
 * library the weak name gives way to the program's. */
#define FORWARD(prefix, name, parameters, arguments) \
    extern __typeof__(name) prefix##name; \
    __attribute__((weak)) int name parameters { return prefix##name arguments; }

#endif
