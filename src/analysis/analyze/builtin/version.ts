/** Name and version of the built-in analyser. The version rises with every change that can change findings. */
export const NAME = 'builtin'
export const VERSION = '9'
