/**
 * For `node --import retake/preload`: installs Retake before the program and its packages load, so
 * that functions they copy are captured, whatever they import first.
 */
import { install } from '@retake/engine'

install()
