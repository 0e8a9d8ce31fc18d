/**
 * Runs command lines of `retake` one after the other in this process, which saves the start of
 * a process for each. The first message has the command lines; the answer says what each printed
 * and its exit code. For commands that neither end their process nor start programs.
 */
import { main } from '../../packages/cli/bundle/main.js'

process.stdout.setMaxListeners(0)

/** Collects what is written to a stream until the returned function is called. */
function capture(stream) {
  const native = stream.write
  const chunks = []
  stream.write = (chunk, encoding, done) => {
    chunks.push(Buffer.from(chunk, typeof encoding === 'string' ? encoding : undefined))
    ;(typeof encoding === 'function' ? encoding : done)?.()
    return true
  }
  return () => {
    stream.write = native
    return Buffer.concat(chunks).toString()
  }
}

process.once('message', async (commands) => {
  const finished = []
  for (const args of commands) {
    const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)]
    await main(args).finally(() =>
      finished.push({ stdout: stdout(), stderr: stderr(), code: process.exitCode ?? 0 }),
    )
  }
  process.exitCode = 0
  process.send(finished, () => process.disconnect())
})
