/* core/log_exp.h -- logarithms and powers that are the same on every machine: those of C libraries
 * differ in their last bits.
 *
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_CORE_LOG_EXP_H
#define PFD_CORE_LOG_EXP_H

/* The natural logarithm of a finite x > 0, and the exponential function: within 1e-15 of the result
 * or of 1.  exp() of more than 700 is infinite, of less than -700 it is 0. */
double pfd_log(double x);
double pfd_exp(double x);
#endif
