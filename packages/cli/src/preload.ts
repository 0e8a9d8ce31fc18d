/**
 * For `node --import retake/preload`: installs Retake before the program and its packages load, so
 * that functions they copy are captured. With `RETAKE_REPLAY=<run>` the program is replayed from
 * that run, however it was started.
 */
import { install } from '@retake/engine'

const run = process.env['RETAKE_REPLAY']
if (run !== undefined && run !== '') {
  const { replayHere } = await import('@retake/runner/replay-here')
  await replayHere(run)
}
install()
