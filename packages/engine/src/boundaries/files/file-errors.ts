/** An error of Node's own kind, with its code in the first line of the stack. */
function nodeError(code: string, message: string): Error {
  const error = Object.assign(new Error(message), { code })
  Object.defineProperty(error, 'stack', {
    value: error.stack?.replace(/^Error/, `Error [${code}]`),
    writable: true,
    configurable: true,
  })
  return error
}

/** What every method of a closed `FileHandle` rejects with. */
export const handleClosed = (syscall: string): Error =>
  Object.assign(new Error('file closed'), { code: 'EBADF', syscall })

/** What the methods of a closed `Dir` throw. */
export const directoryClosed = (): Error =>
  nodeError('ERR_DIR_CLOSED', 'Directory handle was closed')
