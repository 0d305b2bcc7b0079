/* What the libraries share that give plain old names to functions of libkyoho. */
#ifndef FORWARD_H
#define FORWARD_H

/* Defines a function of a header, which calls the function of libkyoho that has a prefix before the name. Its type is
 * that of the header. Only names with a prefix are called: a program may define a function of a plain name itself, and
 * the dynamic linker would then prefer that one. In a static library it is the weak name that gives way. */
#define FORWARD(prefix, name, parameters, arguments) \
    extern __typeof__(name) prefix##name; \
    __attribute__((weak)) int name parameters { return prefix##name arguments; }

#endif
